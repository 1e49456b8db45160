package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.Broker;
import io.queenmq.BrokerConfig;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Certificates;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.LogCapture;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Brokers and a server that takes encrypted connections alone: what comes about, and what is said
 * where nothing does. The server's certificate is for the name localhost, not for an address.
 */
class TlsTest {
    private static Certificates own;
    private static Certificates other;
    private static TlsServer server;

    @BeforeAll
    static void start()
            throws IOException, InterruptedException, GeneralSecurityException, SQLException {
        own = Certificates.of("server", "dns:localhost");
        other = Certificates.of("broker", "");
        server = TlsServer.start(own, other);
    }

    @AfterAll
    static void stop() throws IOException {
        server.close();
    }

    private static DatabaseConfig at(String host, String database, Tls tls) {
        return DatabaseConfig.of(host, server.port(), database, "queen", "")
                .withPoolSize(4)
                .withTls(tls);
    }

    private static Tls trusting(Tls.Mode mode, Certificates authority) {
        return new Tls(mode, Optional.of(authority.certificate()), Optional.empty());
    }

    private static Tls showing(Certificates identity) {
        return new Tls(
                Tls.Mode.VERIFY_FULL,
                Optional.of(own.certificate()),
                Optional.of(new Tls.Identity(identity.certificate(), identity.key())));
    }

    /** What a start says, and the doctor: it does not wait for what cannot come. */
    private static String refusal(DatabaseConfig config) {
        String atStart =
                String.valueOf(
                        assertThrows(
                                        DatabaseRefused.class,
                                        () -> new Migrations(config, Clock.SYSTEM).apply())
                                .getMessage());
        String ofDoctor =
                String.valueOf(
                        assertThrows(DatabaseRefused.class, () -> Inspection.open(config))
                                .getMessage());
        assertEquals(atStart.replace("cannot use ", ""), ofDoctor.replace("cannot reach ", ""));
        return atStart.replace("cannot use " + config + ": ", "");
    }

    private static boolean isEncrypted(DatabaseConfig config) {
        try (Inspection inspection = Inspection.open(config)) {
            return inspection
                    .row("select ssl from pg_stat_ssl where pid = pg_backend_pid()")
                    .is("ssl");
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "DISABLE")
    void whatTheModeAsksForIsGiven(Tls.Mode mode) {
        assertTrue(isEncrypted(at("localhost", "postgres", trusting(mode, own))));
    }

    @Test
    void onlyAModeThatVerifiesAsksWhoItIs() {
        for (Tls.Mode mode : List.of(Tls.Mode.PREFER, Tls.Mode.REQUIRE)) {
            assertTrue(isEncrypted(at("127.0.0.1", "postgres", trusting(mode, other))));
        }
        assertTrue(isEncrypted(at("127.0.0.1", "postgres", trusting(Tls.Mode.VERIFY_CA, own))));
    }

    @Test
    void aServerThatNobodyVouchesForIsRefused() {
        String sentence =
                "no authority that is trusted here vouches for the server's certificate: set"
                        + " PG_SSL_ROOT_CERT to the one that issued it";
        for (Tls.Mode mode : List.of(Tls.Mode.VERIFY_CA, Tls.Mode.VERIFY_FULL)) {
            assertEquals(sentence, refusal(at("localhost", "postgres", trusting(mode, other))));
        }
        Tls publicly = new Tls(Tls.Mode.VERIFY_FULL, Optional.empty(), Optional.empty());
        assertEquals(sentence, refusal(at("localhost", "postgres", publicly)));
    }

    @Test
    void aServerThatIsAnotherOneIsRefused() {
        String sentence = refusal(at("127.0.0.1", "postgres", trusting(Tls.Mode.VERIFY_FULL, own)));
        assertTrue(
                sentence.matches(
                        "the server's certificate is not for 127\\.0\\.0\\.1: .*; PG_HOST must be a"
                                + " name that is in it, or PG_SSL_MODE verify-ca"),
                sentence);
    }

    /** One that vouches for itself does not vouch for ever, whoever pinned it. */
    @Test
    void aCertificateWhoseTimeIsOverIsRefusedWhereItIsLookedAt()
            throws IOException, InterruptedException, GeneralSecurityException, SQLException {
        Certificates.Issued issued = Certificates.issuedAndExpired("server", "dns:localhost");
        Certificates pinned = Certificates.expired("server", "dns:localhost");
        try {
            for (Certificates.Issued each :
                    List.of(issued, new Certificates.Issued(pinned, pinned.certificate()))) {
                server.show(each.certificates());
                for (Tls.Mode mode : List.of(Tls.Mode.VERIFY_CA, Tls.Mode.VERIFY_FULL)) {
                    Tls tls = new Tls(mode, Optional.of(each.authority()), Optional.empty());
                    assertEquals(
                            "the server's certificate has expired",
                            refusal(at("localhost", "postgres", tls)));
                }
                assertTrue(
                        isEncrypted(
                                at("localhost", "postgres", trusting(Tls.Mode.REQUIRE, other))));
            }
        } finally {
            server.show(own);
        }
    }

    @Test
    void aServerThatCannotEncryptIsRefusedUnlessItNeedNot() {
        try (TestDatabase plain = TestDatabase.empty()) {
            DatabaseConfig config =
                    DatabaseConfig.of(plain.host(), plain.port(), plain.name(), plain.user(), "");
            assertEquals(
                    "the server does not encrypt connections, and PG_SSL_MODE require asks for it:"
                            + " switch ssl on there, or PG_USE_SSL off here",
                    refusal(config.withTls(trusting(Tls.Mode.REQUIRE, own))));
            assertEquals(false, isEncrypted(config.withTls(trusting(Tls.Mode.PREFER, own))));
        }
    }

    @Test
    void aServerThatTakesOnlyEncryptedConnectionsSaysSo() {
        String sentence = refusal(at("localhost", "postgres", Tls.NONE));
        assertTrue(
                sentence.endsWith("(connections are not encrypted: PG_USE_SSL=true encrypts them)"),
                sentence);
    }

    @Test
    void aServerThatAsksWhoItIsIsShownTheCertificate() {
        assertTrue(isEncrypted(at("localhost", "certified", showing(other))));
        // A certificate of another authority than the server names is not even sent.
        for (Tls tls : List.of(trusting(Tls.Mode.VERIFY_FULL, own), showing(own))) {
            String sentence = refusal(at("localhost", "certified", tls));
            assertTrue(sentence.contains("requires a valid client certificate"), sentence);
        }
    }

    @Test
    void aStartSaysWhetherTheServerIsVerified() {
        String start = "INFO io.queenmq.db.Migrations connections to the database are encrypted, ";
        assertTrue(
                saidAtStart(trusting(Tls.Mode.VERIFY_FULL, own))
                        .contains(
                                start
                                        + "and the server is verified ssl_mode=verify-full"
                                        + " ssl_trust=supplied-ca ssl_verified=true"));
        assertTrue(
                saidAtStart(trusting(Tls.Mode.REQUIRE, own))
                        .contains(
                                start.replace("INFO", "WARNING")
                                        + "but whoever answers there is believed ssl_mode=require"
                                        + " ssl_trust=accept-any ssl_verified=false"));
    }

    /** One that encrypts nothing says so in the same words. */
    @Test
    void aStartWithoutEncryptionSaysThat() {
        try (TestDatabase database = TestDatabase.migrated();
                LogCapture log = new LogCapture()) {
            new Migrations(database.config(), Clock.SYSTEM).apply();
            assertTrue(
                    log.text().contains("ssl_mode=disable ssl_trust=plaintext ssl_verified=false"),
                    log.text());
        }
    }

    private static String saidAtStart(Tls tls) {
        try (LogCapture log = new LogCapture()) {
            new Migrations(at("localhost", "postgres", tls), Clock.SYSTEM).apply();
            return log.text();
        }
    }

    @Test
    void everyConnectionOfABrokerIsEncrypted() throws SQLException {
        DatabaseConfig config = at("localhost", "certified", showing(other));
        try (Broker broker = new Broker(BrokerConfig.on(config))) {
            broker.start();
            try (Http http = new Http(broker.port());
                    Connection observer = server.connect()) {
                http.push("q", "p", "1");
                assertEquals(List.of("1"), http.pop("q", "subscriptionMode=all").payloads());
                assertEquals(200, http.get("/health").status());
                assertEquals(200, http.get("/api/v1/resources/queues").status());
                String sessions =
                        "select count(*) from pg_stat_ssl s join pg_stat_activity a using (pid)"
                                + " where a.application_name like 'queen-%' and s.ssl is ";
                Await.until(
                        "pool, hints, health and cold reads",
                        () -> Integer.parseInt(Lines.line(observer, sessions + "true")) >= 5);
                assertEquals("0", Lines.line(observer, sessions + "false"));
            }
        }
    }
}
