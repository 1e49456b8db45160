package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code POST /api/v1/transaction}: what commits, under which lease, and what it answers. */
class TransactHttpTest extends TransactScene {
    // What commits.

    @Contract({"tx-1", "tx-9"})
    @Test
    void acksAndPushesCommitTogetherAndAnswerInRequestOrder() {
        Json popped = popped();
        Reply reply =
                send(
                        ack(popped, 0, leaseOf(popped)),
                        "{\"type\":\"push\",\"items\":["
                                + Http.item(target, "a", "t1", "1")
                                + ","
                                + Http.item(target, "b", null, "2")
                                + "]}",
                        ack(popped, 2, leaseOf(popped)));
        Json json = committed(reply);
        assertTrue(UUID_7.matcher(json.text("transactionId")).matches());
        assertEquals(List.of("0", "1", "2", "3"), json.each("results", "index"));
        assertEquals(List.of("ack", "push", "push", "ack"), json.each("results", "type"));
        assertEquals(
                List.of("index", "type", "success", "transactionId", "messageId", "queueName"),
                json.names("results", 1));
        assertEquals("t1", json.text("results", 1, "transactionId"));
        assertEquals(target, json.text("results", 1, "queueName"));
        assertEquals(
                json.text("results", 2, "messageId"),
                json.text("results", 2, "transactionId"),
                "a minted id is both");
        assertEquals(
                List.of("index", "type", "success", "transactionId", "error", "dlq"),
                json.names("results", 0));
        assertTrue(json.isNull("results", 0, "error"));
        assertFalse(json.bool("results", 0, "dlq"));
        assertEquals(List.of("1", "2"), stored(target));
        assertEquals(List.of("3", "4"), http.pop(source, "batch=9").payloads());
        Json out = http.pop(target, "batch=1").json();
        assertEquals(
                out.text("messages", 0, "partition").equals("a") ? "1" : "2",
                String.join("", out.each("messages", "data")));
    }

    @Contract("tx-2")
    @Test
    void anEmptyTransactionCommitsAndEveryCallHasItsOwnId() {
        Json first = committed(send());
        assertEquals(0, first.size("results"));
        assertNotEquals(first.text("transactionId"), committed(send()).text("transactionId"));
    }

    @Contract("tx-3")
    @Test
    void theFlatFormAndTheAliasOfThePayloadAreUnderstood() {
        committed(
                send(
                        "{\"type\":\"push\",\"queue\":\"" + target + "\",\"data\":{ \"n\": 1.0 }}",
                        "{\"queue\":\"" + target + "\",\"transactionId\":\"\",\"type\":\"push\"}",
                        "{\"type\":\"push\",\"queue\":\""
                                + target
                                + "\",\"items\":null,\"payload\":null,\"data\":7,"
                                + "\"partition\":\"\",\"traceId\":\"no uuid\"}"));
        assertEquals(List.of("{ \"n\": 1.0 }", "{}", "null"), stored(target));
        assertEquals("Default", http.pop(target, "").json().text("partition"));
    }

    @Contract("tx-3")
    @Test
    void traceIdsAreStored() {
        String trace = UUID.randomUUID().toString();
        committed(
                send(
                        "{\"type\":\"push\",\"items\":[{\"queue\":\""
                                + target
                                + "\",\"payload\":1,\"traceId\":\""
                                + trace
                                + "\"}]}"));
        assertEquals(trace, http.pop(target, "").json().text("messages", 0, "traceId"));
    }

    @Contract("tx-7")
    @Test
    void theFirstOfTwoEqualIdsIsStoredAndTheSecondEchoed() {
        Json json =
                committed(
                        send(
                                push(target, "same", "1"),
                                push(target, "other", "2"),
                                push(target, "same", "3")));
        assertFalse(json.names("results", 0).contains("duplicate"));
        assertTrue(json.bool("results", 2, "duplicate"));
        assertEquals(json.text("results", 0, "messageId"), json.text("results", 2, "messageId"));
        assertEquals(List.of("1", "2"), stored(target));
    }

    @Contract("tx-10")
    @Test
    void aParkedPopIsWokenByACommit() {
        http.push(target, "p", "0");
        assertEquals(1, http.pop(target, "autoAck=true").payloads().size());
        CompletableFuture<Reply> parked =
                http.getLater("/api/v1/pop/queue/" + target + "?wait=true&timeout=50000");
        broker.awaitParked(1);
        committed(send(push(target, null, "1")));
        assertEquals(List.of("1"), parked.join().payloads());
    }

    @Contract("tx-10")
    @Test
    void aLaneThatIsGivenBackIsOfferedToAParkedPop() {
        http.push(source, "p", "0", "1", "2");
        Json popped = http.pop(source, "batch=2").json();
        CompletableFuture<Reply> parked =
                http.getLater("/api/v1/pop/queue/" + source + "?wait=true&timeout=50000");
        broker.awaitParked(1);
        committed(send(ack(popped, 1, leaseOf(popped))));
        assertEquals(List.of("2"), parked.join().payloads());
    }

    // Leases.

    @Contract({"tx-5", "tx-6"})
    @Test
    void requiredLeasesAloneAckUnderTheHolder() {
        Json popped = popped();
        committed(sendWith(required(popped.text("leaseId")), ack(popped, 2, "")));
        assertEquals(List.of("3"), http.pop(source, "batch=1").payloads());
    }

    @Contract("tx-6")
    @Test
    void theLeaseOfAnotherAckPicksTheHolderOfItsLane() {
        http.push(source, "a", "0");
        http.push(source, "b", "1");
        Json popped = http.pop(source, "batch=2&partitions=2").json();
        assertEquals("2", popped.text("partitionsClaimed"));
        committed(send(ack(popped, 0, leaseOf(popped)), ack(popped, 1, "")));
        assertEquals(204, http.pop(source, "").status());
    }

    @Contract({"tx-6", "tx-reason-3"})
    @Test
    void aLeaseThatSomebodyElseTookOverRollsBack() {
        Json mine = popped();
        expire(source);
        Json theirs = http.get("/api/v1/pop/queue/" + source + "/partition/p?batch=3").json();
        assertEquals(3, theirs.size("messages"));
        assertRolledBack(
                sendWith(required(mine.text("leaseId")), push(target, null, "1"), ack(mine, 0, "")),
                200,
                "ack_rejected",
                "QTXN ack failed for partition "
                        + mine.text("partitionId")
                        + " group \"__QUEUE_MODE__\": invalid or expired lease");
        assertEquals(List.of(), stored(target));
        committed(sendWith(required(theirs.text("leaseId")), ack(theirs, 2, "")));
    }

    @Contract("tx-reason-3")
    @ParameterizedTest
    @ValueSource(strings = {"00000000-0000-7000-8000-000000000000", "not a uuid"})
    void aWrongLeaseRollsBack(String lease) {
        Json popped = popped();
        assertRolledBack(
                send(push(target, null, "1"), ack(popped, 0, ",\"leaseId\":\"" + lease + "\"")),
                200,
                "ack_rejected",
                "QTXN ack failed for partition");
        assertRolledBack(
                sendWith(required(lease), ack(popped, 0, "")), 200, "ack_rejected", "QTXN ack");
        assertEquals(List.of(), stored(target));
    }

    @Contract("tx-reason-3")
    @Test
    void anExpiredLeaseRollsBackAlthoughNobodyTookItOver() {
        Json popped = popped();
        expire(source);
        assertRolledBack(
                sendWith(required(popped.text("leaseId")), ack(popped, 0, "")),
                200,
                "ack_rejected",
                "QTXN ack failed for partition");
    }

    @Contract("tx-6")
    @Test
    void withoutAnyLeaseTheCursorMovesAllTheSame() {
        Json popped = popped();
        committed(sendWith("\"requiredLeases\":\"ignored\",", ack(popped, 2, "")));
        assertEquals(List.of("3"), http.pop(source, "batch=1").payloads());
    }

    @Contract({"tx-6", "tx-reason-3"})
    @Test
    void aLeaseAcknowledgedLastDoesNotPassForWhatItGaveBack() {
        Json popped = popped();
        committed(
                sendWith(
                        required(popped.text("leaseId")),
                        ack(popped, 0, ""),
                        ack(popped, 1, ",\"status\":\"retry\"")));
        committed(sendWith(required(popped.text("leaseId")), ack(popped, 0, "")));
        assertRolledBack(
                sendWith(
                        required(popped.text("leaseId")),
                        push(target, null, "1"),
                        ack(popped, 2, "")),
                200,
                "ack_rejected",
                "QTXN ack failed for partition");
        assertEquals(List.of(), stored(target));
    }

    // Repetitions.

    @Contract("tx-reason-1")
    @Test
    void aTransactionSentAgainIsADuplicate() {
        Json popped = popped();
        String[] operations = {ack(popped, 2, leaseOf(popped)), push(target, "once", "1")};
        committed(send(operations));
        assertRolledBack(
                send(operations),
                200,
                "duplicate",
                "QDUP duplicate messages in queue \""
                        + target
                        + "\" partition \"p\"; transaction rolled back");
        assertEquals(List.of("1"), stored(target));
    }

    @Contract({"tx-1", "tx-reason-1"})
    @Test
    void aDuplicateUndoesThePushesToOtherLanesAndTheAcks() {
        Json popped = popped();
        http.pushItems(List.of(Http.item(target, "p", "stored", "0")));
        assertRolledBack(
                send(
                        ack(popped, 2, leaseOf(popped)),
                        "{\"type\":\"push\",\"items\":["
                                + Http.item(target, "a", "new", "1")
                                + ","
                                + Http.item(target, "p", "stored", "2")
                                + "]}"),
                200,
                "duplicate",
                "QDUP duplicate messages in queue");
        assertEquals(List.of("0"), stored(target));
        committed(send(ack(popped, 0, leaseOf(popped)), push(target, "new", "1")));
        assertEquals(List.of("0", "1"), stored(target));
    }

    @Test
    @Contract("dedup-3")
    void whatATransactionStoredIsADuplicateForAPush() {
        committed(send(push(target, "id", "1")));
        Json pushed = http.pushItems(List.of(Http.item(target, "p", "id", "2"))).json();
        assertEquals("duplicate", pushed.text(0, "status"));
    }

    /** More recent segments than append reads under the lock; the broker knows none of them. */
    @Test
    void aLaneWithTooMuchToSearchIsSearchedOutsideItsLock() {
        http.pushItems(List.of(Http.item(target, "p", "old", "0")));
        lines(
                "select count(*) from generate_series(1, 1001) i cross join lateral queen.push(?,"
                        + " 'p', i::text)",
                target);
        assertRolledBack(
                send(push(target, "other", "1"), push(target, "old", "1")),
                200,
                "duplicate",
                "QDUP duplicate messages in queue \"" + target + "\"");
        committed(send(push(target, "other", "2")));
        assertEquals(1003, stored(target).size());
        assertRolledBack(send(push(target, "other", "2")), 200, "duplicate", "QDUP");
    }

    @Contract("tx-8")
    @Test
    void aCompletedAckAtTheCursorAndAFailureBehindItDoNotRollBack() {
        Json popped = popped();
        http.ackBatch(popped, "completed", 0, 1, 2);
        Json json =
                committed(
                        send(
                                ack(popped, 1, leaseOf(popped)),
                                ack(popped, 2, leaseOf(popped) + ",\"status\":\"failed\""),
                                push(target, null, "1")));
        assertTrue(json.bool("results", 1, "success"));
        assertEquals(List.of("1"), stored(target));
    }

    // Failures inside a transaction.

    @Contract({"tx-1", "tx-4"})
    @Test
    void aDeadLetterIsFiledInTheSameCommit() {
        Json popped = popped();
        Json json =
                committed(
                        send(
                                ack(
                                        popped,
                                        0,
                                        leaseOf(popped) + ",\"status\":\"dlq\",\"error\":\"why\""),
                                push(target, null, "1")));
        assertTrue(json.bool("results", 0, "dlq"));
        assertEquals(
                List.of("0|why"),
                lines(
                        "select payload || '|' || error from queen.dead_letters where queue = ?",
                        source));
        assertEquals(List.of("1"), http.pop(source, "batch=1").payloads());
    }

    @Contract({"tx-1", "tx-4"})
    @Test
    void aRolledBackTransactionFilesNoDeadLetterAndChargesNothing() {
        configure(source, "\"retryLimit\":0");
        Json popped = popped();
        http.pushItems(List.of(Http.item(target, "p", "stored", "0")));
        assertRolledBack(
                send(
                        ack(popped, 0, leaseOf(popped) + ",\"status\":\"failed\""),
                        push(target, "stored", "1")),
                200,
                "duplicate",
                "QDUP");
        assertEquals(
                List.of(), lines("select error from queen.dead_letters where queue = ?", source));
        Json json = committed(send(ack(popped, 0, leaseOf(popped) + ",\"status\":\"failed\"")));
        assertTrue(json.bool("results", 0, "dlq"));
    }

    @Contract("tx-reason-3")
    @ParameterizedTest
    @ValueSource(strings = {"failed", "retry", "dlq"})
    void aFailureWithoutALeasedBatchRollsBack(String status) {
        http.push(source, "p", "0");
        http.pop(source, "autoAck=true");
        http.push(source, "p", "1");
        String message =
                lines(
                                "select transaction_id from queen.messages where queue = ? and payload = '1'",
                                source)
                        .getFirst();
        String lane =
                lines("select partition_id from queen.partitions where queue = ?", source)
                        .getFirst();
        assertRolledBack(
                send(
                        push(target, null, "1"),
                        "{\"type\":\"ack\",\"transactionId\":\""
                                + message
                                + "\",\"partitionId\":\""
                                + lane
                                + "\",\"status\":\""
                                + status
                                + "\"}"),
                200,
                "ack_rejected",
                "QTXN ack failed for partition " + lane);
        assertEquals(List.of(), stored(target));
    }
}
