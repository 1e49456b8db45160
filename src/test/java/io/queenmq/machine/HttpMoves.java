package io.queenmq.machine;

import io.queenmq.machine.Op.Target;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

/** Seeks, groups and dead letters by their routes. */
final class HttpMoves {
    private final SqlState state;
    private final Map<String, String> names;

    /**
     * @param names what the model calls the ids of copies of dead letters
     */
    HttpMoves(SqlState state, Map<String, String> names) {
        this.state = state;
        this.names = names;
    }

    List<String> seekQueue(Http http, Op.SeekQueue seek) throws SQLException {
        Http.Reply reply =
                http.post(
                        "/api/v1/consumer-groups/"
                                + seek.group()
                                + "/queues/"
                                + seek.queue()
                                + "/seek",
                        target(seek.target(), seek.age(), 0));
        return List.of(answer(reply, "moved"));
    }

    List<String> seekLane(Http http, Op.SeekLane seek) throws SQLException {
        Http.Reply reply =
                http.post(
                        "/api/v1/consumer-groups/"
                                + seek.group()
                                + "/queues/"
                                + seek.queue()
                                + "/partitions/"
                                + seek.partition()
                                + "/seek",
                        target(seek.target(), seek.age(), seek.offset()));
        return List.of(
                reply.status() == 200
                        ? "moved " + (Long.parseLong(reply.json().text("nextOffset")) - 1)
                        : answer(reply, "moved"));
    }

    private String target(Target target, int age, long offset) throws SQLException {
        return switch (target) {
            case BEGINNING -> "{\"toBeginning\":true}";
            case END -> "{\"toEnd\":true}";
            case INSTANT -> "{\"timestamp\":\"" + state.ago(State.span(age)) + "\"}";
            case OFFSET -> "{\"offset\":" + offset + "}";
        };
    }

    /** What was asked for was done, or is not there. */
    private static String answer(Http.Reply reply, String done) {
        return switch (reply.status()) {
            case 200 -> done;
            case 404 -> "not_found";
            default -> reply.status() + " " + reply.body();
        };
    }

    List<String> subscribe(Http http, Op.Subscribe subscribe) throws SQLException {
        Http.Reply reply =
                http.post(
                        "/api/v1/consumer-groups/" + subscribe.group() + "/subscription",
                        "{\"subscriptionTimestamp\":\""
                                + state.ago(State.span(subscribe.age()))
                                + "\"}");
        return List.of("changed " + reply.json().text("rowsUpdated"));
    }

    List<String> deleteGroup(Http http, Op.DeleteGroup delete) {
        Http.Reply reply =
                http.delete(
                        "/api/v1/consumer-groups/"
                                + delete.group()
                                + (delete.queue() == null ? "" : "/queues/" + delete.queue())
                                + "?deleteMetadata="
                                + delete.forgets());
        return List.of(answer(reply, "deleted"));
    }

    List<String> deleteDeadLetter(Http http, Op.DeleteDeadLetter delete) throws SQLException {
        Http.Reply reply =
                http.delete(
                        "/api/v1/messages/"
                                + state.partitionId(delete.queue(), delete.partition())
                                + "/"
                                + Http.encode(SqlMoves.real(names, delete.transactionId())));
        return List.of(answer(reply, "deleted"));
    }

    List<String> replay(Http http, Op.Replay replay) throws SQLException {
        long id = state.deadLetter(replay);
        Http.Reply reply =
                http.post(
                        "/api/v1/dlq/" + id + "/replay",
                        "{\"queue\":\""
                                + replay.toQueue()
                                + "\",\"partition\":\""
                                + replay.toPartition()
                                + "\"}");
        if (reply.status() == 404) {
            return List.of("gone");
        }
        Json json = reply.json();
        if (!json.text("result").equals("moved")) {
            return List.of(reply.body());
        }
        names.put("dlq:" + id, replay.copyId());
        return List.of(
                "moved %s/%s at %s"
                        .formatted(
                                json.text("queue"),
                                json.text("partition"),
                                json.text("replayedAs", "offset")));
    }

    /** What the routes say of what the procedures say. */
    static String asTold(Op op, String line) {
        return switch (op) {
            case Op.SeekLane ignored -> line.replaceFirst("^unknown_\\w+$", "not_found");
            case Op.DeleteGroup ignored -> "deleted";
            case Op.DeleteDeadLetter ignored -> line.equals("deleted 0") ? "not_found" : "deleted";
            default -> line;
        };
    }
}
