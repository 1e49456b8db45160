package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** A request that waits notices its client leave; the server stops without losing an answer. */
class ParkedClientTest {
    @Test
    @Contract("pop-claim-9")
    void aClosedConnectionIsNoticed() throws Exception {
        try (ListenerFixture fixture = new ListenerFixture()) {
            RawClient client = fixture.connect().request("GET", "/park");
            ListenerFixture.Parked parked = fixture.awaitParked();
            client.close();
            assertEquals("gone", parked.next());
            assertTrue(parked.connection.isGone());
        }
    }

    @Test
    @Contract("pop-claim-9")
    void aResetConnectionIsNoticed() throws Exception {
        try (ListenerFixture fixture = new ListenerFixture()) {
            RawClient client = fixture.connect().request("GET", "/park");
            ListenerFixture.Parked parked = fixture.awaitParked();
            client.reset();
            assertEquals("gone", parked.next());
        }
    }

    @Test
    @Contract("pop-claim-9")
    void aHalfClosedConnectionCountsAsLeft() throws Exception {
        try (ListenerFixture fixture = new ListenerFixture();
                RawClient client = fixture.connect().request("GET", "/park")) {
            ListenerFixture.Parked parked = fixture.awaitParked();
            client.halfClose();
            assertEquals("gone", parked.next());
        }
    }

    @Test
    void theConnectionServesOnAfterAPoll() throws Exception {
        try (ListenerFixture fixture = new ListenerFixture();
                RawClient client = fixture.connect()) {
            for (int i = 0; i < 3; i++) {
                client.request("GET", "/park");
                fixture.awaitParked();
                fixture.answerOne();
                assertEquals(204, client.read().status());
                assertEquals("\"pong\"", client.get("/ping").body());
                assertEquals("\"ab\"", client.post("/echo", "ab").body());
            }
        }
    }

    @Test
    @Contract("http-16")
    void aRequestSentBehindAPollIsAnsweredAfterIt() throws Exception {
        try (ListenerFixture fixture = new ListenerFixture();
                RawClient client = fixture.connect()) {
            client.request("GET", "/park");
            fixture.awaitParked();
            client.request("POST", "/echo", "ab".getBytes(StandardCharsets.UTF_8));
            fixture.answerOne();
            assertEquals(204, client.read().status());
            assertEquals("\"ab\"", client.read().body());
            assertEquals("\"pong\"", client.get("/ping").body());
        }
    }

    @Test
    void twoPollsInOneWriteAreBothAnswered() throws Exception {
        try (ListenerFixture fixture = new ListenerFixture();
                RawClient client = fixture.connect()) {
            String poll = "GET /park HTTP/1.1\r\nHost: q\r\n\r\n";
            client.send(poll + poll);
            for (int i = 0; i < 2; i++) {
                fixture.awaitParked();
                fixture.answerOne();
                assertEquals(204, client.read().status());
            }
        }
    }

    @Test
    @Contract("http-19")
    void stoppingAnswersParkedPollsAndRequestsInFlight() throws Exception {
        ListenerFixture fixture = new ListenerFixture();
        try (RawClient poll = fixture.connect().request("GET", "/park");
                RawClient idle = fixture.connect()) {
            fixture.awaitParked();
            RawClient push =
                    fixture.connect()
                            .request("POST", "/hold", "abc".getBytes(StandardCharsets.UTF_8));
            fixture.awaitParked();
            assertEquals("\"pong\"", idle.get("/ping").body());
            fixture.listener.drain();
            RawClient.Reply last = idle.get("/ping");
            assertEquals("close", last.headers().get("connection"));
            assertTrue(idle.isClosed());
            Thread stop = Thread.ofVirtual().start(fixture::close);
            fixture.answerOne();
            fixture.answerOne();
            RawClient.Reply empty = poll.read();
            assertEquals(204, empty.status());
            assertEquals("close", empty.headers().get("connection"));
            assertEquals("3", push.read().body());
            assertTrue(poll.isClosed());
            assertTrue(push.isClosed());
            push.close();
            stop.join();
            boolean refused;
            try (RawClient late = fixture.connect()) {
                refused = late.isClosed();
            } catch (IOException e) {
                refused = true;
            }
            assertTrue(refused);
        }
    }
}
