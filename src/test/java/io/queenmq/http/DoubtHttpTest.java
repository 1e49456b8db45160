package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.push.PushConfig;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The answer of a commit is lost for longer than a push may take. */
class DoubtHttpTest {
    @Test
    @Contract({"push-21", "http-20", "error-1", "error-2"})
    void aPushInDoubtIs503AndMaySafelyBeRepeated() throws Exception {
        PushConfig usual = PushConfig.defaults();
        PushConfig hasty =
                new PushConfig(
                        Duration.ofMillis(500),
                        Duration.ofMillis(100),
                        usual.lockTimeout(),
                        usual.hydrators(),
                        usual.searchers(),
                        usual.combiner());
        try (TestDatabase database = TestDatabase.migrated();
                TcpProxy link = new TcpProxy(database.host(), database.port());
                TestBroker broker = TestBroker.over(link, database, hasty);
                TestBroker other = TestBroker.on(database)) {
            Http http = broker.http();
            List<String> items =
                    List.of(Http.item("q", "p", "t-1", "1"), Http.item("q", "p", "t-2", "2"));
            http.push("q", "p", "0");
            link.swallowAnswers(true);
            Http.Reply doubt =
                    http.post("/api/v1/push", "{\"items\":[" + String.join(",", items) + "]}");
            assertEquals(503, doubt.status());
            assertEquals(List.of("error"), doubt.json().names());
            assertEquals(
                    "no answer from the database in time; the messages may or may not be stored",
                    doubt.json().text("error"));
            assertEquals("1", doubt.response().headers().firstValue("retry-after").orElse(""));

            String status = other.http().pushItems(items).json().text(0, "status");
            assertTrue(Set.of("queued", "duplicate").contains(status), status);
            link.swallowAnswers(false);
            link.cut();
            assertEquals(List.of("0", "1", "2"), other.http().pop("q", "").payloads());
        }
    }
}
