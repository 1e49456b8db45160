package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.PostgresLink.Point;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A call on locks whose last answer is lost. Somebody is faster in its first round, so that there
 * is a second one, which the database carries out and nobody hears of.
 */
class LockFaultTest {
    private static final String PATH = "/api/v1/locks";

    private TestDatabase database;
    private PostgresLink link;
    private TestBroker broker;
    private Connection other;

    @BeforeEach
    void start() throws IOException, SQLException {
        database = TestDatabase.migrated();
        link = new PostgresLink(database.host(), database.port());
        broker = TestBroker.over(link, database);
        other = database.connect();
    }

    @AfterEach
    void stop() throws IOException, SQLException {
        link.close();
        broker.close();
        other.close();
        database.close();
    }

    private void write(String sql) throws SQLException {
        assertEquals("applied", Lines.line(other, "select status from queen." + sql));
    }

    private static String taken(int slot) {
        return "kv_put('queen-locks', 'l#%d', '{\"owner\":\"a\"}', 600, 0)".formatted(slot);
    }

    private static Json lockOf(Reply reply) {
        assertEquals(200, reply.status(), reply.body());
        return reply.json().at("results", 0);
    }

    /** Between the look and the first round, and between that and the second. */
    private Json lost(String op, String[] before, String[] between) throws Exception {
        PostgresLink.Halt look = link.haltAt("run_kv", Point.ANSWER);
        CompletableFuture<Reply> sent = broker.http().postLater(PATH, "[" + op + "]");
        look.awaitReached();
        for (String sql : before) {
            write(sql);
        }
        PostgresLink.Halt second = link.haltAt("run_kv", Point.ANSWER);
        look.pass();
        second.awaitReached();
        for (String sql : between) {
            write(sql);
        }
        PostgresLink.Halt answer = link.haltAt("run_kv", Point.ANSWER);
        second.pass();
        answer.awaitReached();
        link.cut();
        return lockOf(sent.join());
    }

    private String holders() throws SQLException {
        return Lines.line(
                other, "select string_agg(slot || owner, ',' order by slot) from queen.locks");
    }

    @Contract("lock-1")
    @Test
    void anAcquisitionThatMayHaveBeenCarriedOutSaysSoAndForWhom() throws Exception {
        Json lock =
                lost(
                        "{\"op\":\"acquire\",\"name\":\"l\",\"ttlSeconds\":60,\"limit\":2}",
                        new String[] {taken(0), taken(1)},
                        new String[] {
                            "kv_delete('queen-locks', 'l#0')", "kv_delete('queen-locks', 'l#1')"
                        });
        assertEquals("unfinished", lock.text("reason"));
        assertEquals("false", lock.text("acquired"));
        String owner = lock.text("owner");
        Json again =
                lockOf(
                        broker.http()
                                .post(
                                        PATH,
                                        "[{\"op\":\"acquire\",\"name\":\"l\",\"ttlSeconds\":60,\"limit\":2,\"owner\":\"%s\"}]"
                                                .formatted(owner)));
        assertEquals("true", again.text("already"), "it was");
        assertEquals(again.text("slot") + owner, holders());
    }

    @Contract({"lock-1", "lock-4"})
    @Test
    void aRenewalThatMayHaveBeenCarriedOutHasLostNothing() throws Exception {
        write(taken(0));
        Json lock =
                lost(
                        "{\"op\":\"renew\",\"name\":\"l\",\"ttlSeconds\":60,\"token\":1,\"owner\":\"a\"}",
                        new String[] {"kv_put('queen-locks', 'l#0', '{\"owner\":\"a\"}', 600)"},
                        new String[] {});
        assertEquals("unfinished", lock.text("reason"));
        assertEquals("false", lock.text("renewed"));
        assertEquals("0a", holders());
    }

    @Contract("lock-3")
    @Test
    void whoWasBeatenIsToldSoThoughNobodyCanSayByWhom() throws Exception {
        PostgresLink.Halt look = link.haltAt("run_kv", Point.ANSWER);
        CompletableFuture<Reply> sent =
                broker.http()
                        .postLater(PATH, "[{\"op\":\"acquire\",\"name\":\"l\",\"ttlSeconds\":60}]");
        look.awaitReached();
        write(taken(0));
        PostgresLink.Halt first = link.haltAt("run_kv", Point.ANSWER);
        look.pass();
        first.awaitReached();
        PostgresLink.Halt second = link.haltAt("run_kv", Point.REQUEST);
        first.pass();
        second.awaitReached();
        link.cut();
        assertEquals("contended", lockOf(sent.join()).text("reason"));
    }
}
