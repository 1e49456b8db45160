package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Caller;
import io.queenmq.testkit.ConsumeEngine;
import io.queenmq.testkit.Contract;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class GroupsEngineTest {
    private static final UUID TENANT = Caller.DEFAULT_TENANT;

    private static ConsumeEngine engine;

    @BeforeAll
    static void start() {
        engine = new ConsumeEngine();
    }

    @AfterAll
    static void stop() {
        engine.close();
    }

    @Test
    void theRuleOfTheFirstRegistrationStays() {
        register("rules", StartRule.at(Instant.parse("2020-01-01T00:00:00Z")));
        engine.groups.everythingChanged();
        register("rules", StartRule.ALL);
        assertEquals(
                "instant",
                engine.rows(
                                "select g.start_rule from queen_store.groups g"
                                        + " join queen_store.queues q on q.id = g.queue_id"
                                        + " where q.name = 'rules'")
                        .getFirst()[0]);
    }

    @Test
    void aTouchedGroupIsRegisteredByTheFirstThatNeedsARule() {
        assertInstanceOf(
                Registration.UnknownQueue.class, engine.groups.touch(TENANT, "touched", "g"));
        engine.push("touched", "a", "1");
        assertFalse(known(engine.groups.touch(TENANT, "touched", "g")).registered());
        assertTrue(register("touched", StartRule.NEW).registered());
        assertTrue(known(engine.groups.touch(TENANT, "touched", "g")).registered());
    }

    @Test
    @Contract("pop-first-1")
    void manyAtOnceGetOneAnswer() throws Exception {
        List<CompletableFuture<Registration>> answers = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 100; i++) {
                answers.add(
                        CompletableFuture.supplyAsync(
                                () -> register("crowded", StartRule.ALL), threads));
            }
        }
        for (CompletableFuture<Registration> answer : answers) {
            assertEquals(answers.getFirst().get(), answer.get());
        }
    }

    @Test
    void aQueueMadeAnewIsFoundOnceItsChangeWasHeard() {
        Registration.Known before = register("anew", StartRule.ALL);
        engine.rows("select queen_store.delete_queue(?, 'anew')", TENANT);
        assertEquals(before, register("anew", StartRule.ALL), "remembered");
        engine.groups.queueChanged(before.queueId());
        assertNotEquals(before.queueId(), register("anew", StartRule.ALL).queueId());
    }

    private static Registration.Known register(String queue, StartRule rule) {
        return known(engine.groups.register(TENANT, queue, "g", rule, false, true));
    }

    private static Registration.Known known(Registration registration) {
        return assertInstanceOf(Registration.Known.class, registration);
    }
}
