package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.config.ConfigurationPage;
import io.queenmq.config.SettingRange;
import io.queenmq.config.Settings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What an operator sees of {@code queen config}. */
class ShowConfigTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(Map<String, String> environment, String... args) {
        CommandLine line =
                QueenCommand.commandLine(Settings.of(environment), new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    private void shows(String line) {
        assertTrue(
                out.toString().lines().anyMatch(one -> one.replaceAll(" +", " ").equals(line)),
                line + " in\n" + out);
    }

    @Test
    void everySettingHasItsValueAndWhereThatComesFrom(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("queen.yaml");
        Files.writeString(file, "PORT: 7000\nPG_USER: ada\nJWT_ISSUER: me\nPG_PASSWORD: hidden\n");
        Map<String, String> environment = Map.of("PG_USER", "eve", "PG_DB", "q");
        assertEquals(0, run(environment, "config", "--config", file.toString()), err.toString());
        shows("PORT 7000 (" + file + ")");
        shows("PG_USER eve (environment)");
        shows("PG_DATABASE q (environment as PG_DB)");
        shows("PG_PASSWORD <6 characters> (" + file + ")");
        shows("QUEEN_BIND_ADDR 0.0.0.0 (default)");
        assertFalse((out.toString() + err).contains("hidden"), out.toString());
    }

    @Test
    void theFileIsNamedBeforeTheCommandAsWell(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("queen.yaml"), "PORT: 7000\n");
        assertEquals(0, run(Map.of(), "--config", file.toString(), "config"), err.toString());
        shows("PORT 7000 (" + file + ")");
        assertEquals(0, run(Map.of("QUEEN_CONFIG", file.toString()), "config"));
    }

    @Test
    void whatABrokerWouldRefuseIsShownInFullAndEndsItWithOne() {
        assertEquals(1, run(Map.of("PORT", "x", "JWT_SECRET", "short"), "config"));
        shows("PORT x (environment) must be a whole number from 0 to 65535");
        shows(
                "JWT_SECRET <5 characters> (environment) must be at least 32 bytes (48 for HS384, 64"
                        + " for HS512), and no PEM");
        assertTrue(err.toString().startsWith("queen: "), err.toString());
        assertEquals(1, run(Map.of("QUEEN_TENANCY_HEADER", "on"), "config"));
        assertTrue(err.toString().contains("QUEEN_KV_TRUSTED_PROXY"), err.toString());
        assertEquals(1, run(Map.of("QUEEN_CONFIG", "/nowhere.yaml"), "config"));
        assertTrue(err.toString().contains("/nowhere.yaml is not there"), err.toString());
    }

    /** Values that the machine or other settings decide are values all the same. */
    @Test
    void aComputedDefaultIsShownAsTheValueItIs() {
        int processors = Runtime.getRuntime().availableProcessors();
        long heap = Runtime.getRuntime().maxMemory() >> 20;
        long pool = Math.min(48, 4 * processors + 8);
        assertEquals(0, run(Map.of("HOSTNAME", "b1", "LOG_LEVEL", "warn"), "config"));
        shows(
                "DB_POOL_SIZE %d (default, computed from %d processors)"
                        .formatted(pool, processors)
                        .replace(" 1 processors", " 1 processor"));
        shows("QUEEN_KV_POOL_SIZE 4 (default, computed from DB_POOL_SIZE %d)".formatted(pool));
        shows(
                "QUEEN_DEDUP_CACHE_MB %d (default, computed from a heap of %d MiB)"
                        .formatted(Math.min(512, heap / 4), heap));
        shows("QUEEN_EMBEDDED true (default, neither PG_HOST nor PG_DATABASE is set)");
        shows("QUEEN_KV_READ_RATE 0 (default, as QUEEN_TENANCY_HEADER is false)");
        shows("QUEEN_KV_READ_BURST none (default, as QUEEN_KV_READ_RATE is 0)");
        shows("QUEEN_SWEEPER_FIRE_RATE_PER_TENANT 0 (default, as QUEEN_TENANCY_HEADER is false)");
        shows("QUEEN_KV_REQUIRE_GRANT false (default, as QUEEN_TENANCY_HEADER is false)");
        shows("QUEEN_SERVER_ID b1 (default, from HOSTNAME)");
        shows("RUST_LOG warn (default, from LOG_LEVEL)");
        shows(
                "PG_SSL_MODE disable (default, computed from PG_USE_SSL,"
                        + " PG_SSL_REJECT_UNAUTHORIZED and PG_SSL_ROOT_CERT)");
    }

    @Test
    void aComputedDefaultFollowsWhatDecidesIt() {
        assertEquals(
                0,
                run(
                        Map.of(
                                "QUEEN_TENANCY_HEADER", "on",
                                "QUEEN_KV_TRUSTED_PROXY", "on",
                                "PG_DB", "q",
                                "DB_POOL_SIZE", "100",
                                "QUEEN_KV_WRITE_RATE", "7",
                                "PG_SSL_MODE", "require"),
                        "config"));
        shows("QUEEN_EMBEDDED false (default, PG_DATABASE is set)");
        shows("QUEEN_KV_POOL_SIZE 10 (default, computed from DB_POOL_SIZE 100)");
        shows("QUEEN_KV_READ_RATE 200 (default, as QUEEN_TENANCY_HEADER is true)");
        shows("QUEEN_KV_READ_BURST 400 (default, as QUEEN_KV_READ_RATE is 200)");
        shows("QUEEN_KV_WRITE_BURST 14 (default, as QUEEN_KV_WRITE_RATE is 7)");
        shows("QUEEN_KV_CELL_RATE 2000 (default, as QUEEN_TENANCY_HEADER is true)");
        shows("QUEEN_SWEEPER_FIRE_RATE_PER_TENANT 50 (default, as QUEEN_TENANCY_HEADER is true)");
        shows("PG_USE_SSL true (default, as PG_SSL_MODE is require)");
        shows("PG_SSL_REJECT_UNAUTHORIZED false (default, as PG_SSL_MODE is require)");
        out.getBuffer().setLength(0);
        assertEquals(1, run(Map.of("DB_POOL_SIZE", "x"), "config"));
        shows(
                "QUEEN_KV_POOL_SIZE a tenth of DB_POOL_SIZE, 4 to 32 (default, not known as long as"
                        + " that is wrong)");
    }

    /** Every setting that has a range, used or not: none waits for the day it is used. */
    @Test
    void noBadValueOfAnySettingIsLetPass() {
        int ranges = 0;
        for (SettingRange range : SettingRange.all()) {
            for (String bad : range.bad()) {
                for (String name : range.names()) {
                    out.getBuffer().setLength(0);
                    err.getBuffer().setLength(0);
                    assertEquals(1, run(Map.of(name, bad), "config"), name + "=" + bad);
                    String said = err.toString();
                    assertTrue(
                            said.startsWith("queen: " + name + " must be " + range.text()), said);
                    assertTrue(said.matches("(?s).*, got .*\\R"), said);
                }
                ranges++;
            }
        }
        assertTrue(ranges > 150, ranges + " bad values");
        assertEquals(1, run(Map.of("LOG_LEVEL", "zz"), "config"));
        assertTrue(err.toString().contains("LOG_LEVEL must be error, warn, info"), err.toString());
        assertTrue(err.toString().contains("got \"zz\""), err.toString());
    }

    @Test
    void whatIsNoSettingIsListedWithTheOneThatMayBeMeant() {
        assertEquals(0, run(Map.of("PORT", "7000"), "config"));
        assertFalse(out.toString().contains("Without effect"), out.toString());
        assertEquals(
                0,
                run(
                        Map.of(
                                "QUEEN_BIND_ADR", "::1",
                                "queen_server_id", "a",
                                "QUEEN_UNHEARD_OF_AT_ALL", "1",
                                "QUEEN_MESH_PORT", "6633",
                                "QUEEN_JAVA_OPTS", "-Xmx1g"),
                        "config"));
        shows("# Without effect");
        shows("QUEEN_BIND_ADR is no setting: did you mean QUEEN_BIND_ADDR?");
        shows("queen_server_id is no setting: did you mean QUEEN_SERVER_ID?");
        shows("QUEEN_UNHEARD_OF_AT_ALL is no setting");
        shows(
                "QUEEN_MESH_PORT of other versions: brokers of one database tell each other by its"
                        + " notifications, always; an idle one says nothing");
        assertFalse(out.toString().contains("QUEEN_JAVA_OPTS"), out.toString());
    }

    @Test
    void theManualIsThePage() {
        assertEquals(0, run(Map.of(), "config", "--manual"));
        assertEquals(ConfigurationPage.render(), out.toString());
    }
}
