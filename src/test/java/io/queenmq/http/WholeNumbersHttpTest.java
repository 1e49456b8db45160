package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.TestBroker;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Some languages write every number with a fraction, and large ones with an exponent. */
class WholeNumbersHttpTest {
    private static final String[] TOO_LARGE = {
        "100e2147483647", "-100e2147483647", "1e2147483647", "1e99999999999"
    };

    private static TestBroker broker;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        broker.http().push("log", "p", "1");
        broker.http().push("log", "r", "1");
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "kv | [{'op':'put','ns':'n','key':'k','value':1,'ttlSeconds':N}]",
                "kv | [{'op':'put','ns':'n','key':'k','value':1,'forever':true,'expect':N}]",
                "kv | [{'op':'delete','ns':'n','key':'k','expect':N}]",
                "kv | [{'op':'check','ns':'n','key':'k','expect':N,'required':false}]",
                "kv | [{'op':'getPrefix','ns':'n','prefix':'k','limit':N}]",
                "transaction | {'kv':[{'op':'delete','ns':'n','key':'k','expect':N}]}",
                "resources/kv/list | {'namespace':'n','limit':N}",
                "locks | [{'op':'acquire','name':'l','ttlSeconds':N}]",
                "locks | [{'op':'acquire','name':'l','ttlSeconds':60,'limit':N}]",
                "locks | [{'op':'renew','name':'l','token':N,'ttlSeconds':60}]",
                "locks | [{'op':'release','name':'l','token':7,'slot':N}]",
                "system/quota | {'kind':'kv','enabled':true,'maxRows':N}",
                "system/quota | {'kind':'kv','enabled':true,'maxReadsPerSec':N}",
                "configure | {'queue':'q','options':{'leaseTime':N}}",
                "consumer-groups/g/queues/log/partitions/p/seek | {'offset':N}",
                "dlq/replay | {'queue':'log','limit':N}",
                "fetch | {'entries':[{'queue':'log','partition':'p','offset':N}]}",
                "fetch | {'entries':[{'queue':'log','partition':'p','offset':0,'maxBytes':N}]}",
                "fetch | {'maxWaitMs':N,'entries':[]}",
                "fetch | {'minBytes':N,'entries':[]}",
                "system/storage/reclaim | {'bytes':N,'dryRun':true}",
                "system/storage/reclaim | {'bytes':1,'waitSeconds':N,'dryRun':true}"
            })
    @Contract("http-23")
    void aWholeNumberIsOneHoweverItIsSpelled(String route, String body) {
        for (String number : new String[] {"60", "60.0", "6e1", "6.0E+1", "600000e-4"}) {
            assertStatus(200, route, body, number);
        }
        for (String number : new String[] {"60.5", "6e-1", "\"sixty\"", "1e-1000000000"}) {
            assertStatus(400, route, body, number);
        }
        for (String number : TOO_LARGE) {
            assertStatus(400, route, body, number);
        }
    }

    /** Where what is no whole number is as good as nothing. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "partitions/changed | {'entries':[{'queue':'log','limit':N}]}",
                "lease/0199aaaa-1111-7222-8333-444444444444/extend | {'seconds':N}"
            })
    void aWishIsNeverRefused(String route, String body) {
        for (String number : TOO_LARGE) {
            assertStatus(200, route, body, number);
        }
    }

    @Test
    @Contract("http-23")
    void aPageIsAsLongAsItsNumberSaysHoweverItIsSpelled() {
        for (String number : new String[] {"1", "1.0", "1e0", "10e-1"}) {
            assertEquals(1, lanes(number), number);
        }
        assertEquals(2, lanes("\"1\""));
    }

    private static int lanes(String limit) {
        String body = "{\"entries\":[{\"queue\":\"log\",\"limit\":" + limit + "}]}";
        return broker.http()
                .post("/api/v1/partitions/changed", body)
                .json()
                .at("entries", 0)
                .each("partitions", "name")
                .size();
    }

    private static void assertStatus(int status, String route, String body, String number) {
        String sent = body.replace('\'', '"').replace("N", number);
        Reply reply = broker.http().post("/api/v1/" + route, sent);
        assertEquals(status, reply.status(), () -> sent + " " + reply.body());
    }
}
