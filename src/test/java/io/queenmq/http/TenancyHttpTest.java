package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two tenants of one broker do not meet, whatever names and ids they know of each other. */
class TenancyHttpTest {
    private static TestBroker broker;
    private static Http here;
    private static Http there;

    @BeforeAll
    static void start() {
        broker = TestBroker.withTenancy();
        here = broker.http().as(UUID.randomUUID().toString());
        there = broker.http().as(UUID.randomUUID().toString());
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @Test
    @Contract("model-14")
    void oneNameIsTwoQueues() {
        here.push("shared", "p", "\"here\"");
        there.push("shared", "p", "\"there\"");
        Json mine = here.pop("shared", "").json();
        Json theirs = there.pop("shared", "").json();
        assertEquals(List.of("here"), mine.each("messages", "data"));
        assertEquals(List.of("there"), theirs.each("messages", "data"));
        assertNotEquals(mine.text("partitionId"), theirs.text("partitionId"));
    }

    @Test
    @Contract("dedup-1")
    void theSameTransactionIdIsNoDuplicateElsewhere() {
        List<String> item = List.of(Http.item("dup", "p", "same", "1"));
        assertEquals("queued", here.pushItems(item).json().text(0, "status"));
        assertEquals("queued", there.pushItems(item).json().text(0, "status"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/api/v1/push | {\"items\":[]}",
                "/api/v1/ack | {\"transactionId\":\"x\"}",
                "/api/v1/ack/batch | {\"acknowledgments\":[]}",
                "/api/v1/lease/x/extend | {}",
                "/api/v1/configure | {\"queue\":\"q\"}",
                "/api/v1/transaction | {\"operations\":[]}"
            })
    @Contract("model-15")
    void whatIsNoTenantIsRefusedEvenWhereThereIsNothingToDo(String path, String body) {
        Http.Reply refused = broker.http().as("nobody").post(path, body);
        assertEquals(400, refused.status(), refused.body());
        assertEquals(
                "invalid x-queen-tenant header (must be a UUID)", refused.json().text("error"));
    }

    @Test
    @Contract({"model-14", "ack-error-7"})
    void aForeignLaneCannotBeAcknowledged() {
        here.push("ack", "p", "1");
        Json popped = here.pop("ack", "").json();
        Json refused = there.ack(popped, 0, "completed");
        assertEquals("partition not owned by tenant", refused.text(0, "error"));
        assertEquals("true", here.ack(popped, 0, "completed").text(0, "leaseReleased"));
    }

    @Test
    @Contract({"model-14", "lease-5"})
    void aForeignLeaseCannotBeExtended() {
        here.push("lease", "p", "1");
        String path = "/api/v1/lease/" + here.pop("lease", "").json().text("leaseId") + "/extend";
        assertEquals("0", there.post(path, "{}").json().text("renewed"));
        assertEquals("1", here.post(path, "{}").json().text("renewed"));
    }

    @Test
    @Contract("model-14")
    void aForeignQueueCannotBeDeleted() {
        here.push("delete", "p", "1");
        assertEquals(
                "false", there.delete("/api/v1/resources/queues/delete").json().text("deleted"));
        assertEquals(List.of("1"), here.pop("delete", "").payloads());
    }

    @Test
    @Contract("model-14")
    void discoveryStaysAtHome() {
        here.push("labels.a", "p", "1");
        assertEquals(204, there.get("/api/v1/pop?namespace=labels").status());
        assertEquals(List.of("1"), here.get("/api/v1/pop?namespace=labels").payloads());
    }

    @Test
    @Contract("model-15")
    void whatIsNoTenantIsRefusedOnDataRoutesOnly() {
        Http nobody = broker.http().as("nobody");
        Http.Reply refused = nobody.pop("any", "");
        assertEquals(400, refused.status());
        assertEquals(
                "{\"error\":\"invalid x-queen-tenant header (must be a UUID)\"}", refused.body());
        assertEquals(200, nobody.get("/health").status());
    }

    @Test
    @Contract("model-14")
    void withoutTheHeaderEverybodyIsTheDefaultTenant() {
        broker.http().push("default", "p", "1");
        assertEquals(
                List.of("1"),
                broker.http()
                        .as("00000000-0000-0000-0000-000000000001")
                        .pop("default", "")
                        .payloads());
    }
}
