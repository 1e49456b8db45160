package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.config.ConfigurationPage;
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
