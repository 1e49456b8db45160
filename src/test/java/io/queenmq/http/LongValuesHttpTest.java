package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.TestBroker;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A refusal says what came instead, and is no longer for that, whatever came. */
class LongValuesHttpTest {
    private static final int LENGTH = 1 << 20;

    private static TestBroker broker;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    /** $S is a long string, $N a long number, $L a part of a name. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "resources/kv/list | {'limit':$S}",
                "resources/kv/list | {'limit':$N}",
                "resources/kv/list | {'limit':[$S]}",
                "kv | [{'op':$S,'key':'k'}]",
                "kv | [{'op':'put','key':'k','value':1,'ttlSeconds':$N}]",
                "kv | [{'op':'incr','key':'k','delta':$N,'forever':true}]",
                "transaction | {'operations':[{'type':$S}]}",
                "transaction | {'operations':[{'type':'ack','transactionId':'a','partitionId':$S}]}",
                "locks | [{'op':$S,'name':'l'}]",
                "locks | [{'op':'acquire','name':'l','ttlSeconds':$N}]",
                "timers | {'operations':[{'op':$S}]}",
                "timers | {'operations':[{'op':'schedule','queue':'q','_$L':1}]}",
                "timers | {'operations':[{'op':'schedule','queue':'q','timerKey':'k','deliverAt':$S}]}",
                "fetch | {'entries':[{'queue':'q','offset':$S}]}",
                "fetch | {'maxWaitMs':$N}",
                "configure | {'queue':'q','mode':$S}",
                "configure | {'queue':'q','options':{'leaseTime':$S}}",
                "configure | {'queue':'q','options':{'leaseTime':$N}}",
                "configure | {'queue':'q','options':{'namespace':$N}}",
                "configure | {'queue':'q','options':{'encryptionEnabled':$S}}",
                "consumer-groups/g/queues/q/partitions/p/seek | {'offset':$S}",
                "consumer-groups/g/queues/q/partitions/p/seek | {'timestamp':$S}",
                "dlq/replay | {'queue':'q','limit':$S}",
                "dlq/replay | {'queue':'q','limit':$N}",
                "dlq/replay | {'queue':'q','after':$S}",
                "partitions/changed | {'entries':[{'queue':'q','since':$S}]}",
                "traces | {'transactionId':'a','partitionId':$S,'data':1}",
                "system/quota | {'kind':$S,'enabled':true}",
                "system/quota | {'kind':'kv','tenant':$S}",
                "system/storage/reclaim | {'bytes':$N}"
            })
    void aRefusalRepeatsTheBeginning(String route, String body) {
        String sent =
                body.replace('\'', '"')
                        .replace("$S", "\"" + "🦊".repeat(LENGTH / 2) + '"')
                        .replace("$N", "7".repeat(LENGTH))
                        .replace("$L", "x".repeat(LENGTH));
        Reply reply = broker.http().post("/api/v1/" + route, sent);
        assertTrue(reply.body().length() < 300, () -> reply.body().substring(0, 300));
        assertEquals(400, reply.status(), reply.body());
    }
}
