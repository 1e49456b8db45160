package io.queenmq.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsFileTest {
    @TempDir private Path folder;
    private Path file;

    @BeforeEach
    void name() {
        file = folder.resolve("queen.yaml");
    }

    private Settings settings(Map<String, String> environment, String yaml) throws IOException {
        Files.writeString(file, yaml);
        return Settings.of(environment).withFile(Optional.of(file));
    }

    private String refusal(String yaml) {
        return String.valueOf(
                assertThrows(BadSetting.class, () -> settings(Map.of(), yaml)).getMessage());
    }

    @Test
    void aValueIsTakenAsItIsWritten() throws IOException {
        Settings settings =
                settings(
                        Map.of(),
                        """
                        # every kind that YAML would make something else of
                        PORT: 7000
                        JWT_ENABLED: on
                        PG_PASSWORD: 0123
                        PG_USER: 'null'
                        QUEEN_SERVER_ID: 2026-11-30
                        PG_HOST: [db-1, db-2]
                        JWT_SKIP_PATHS: ''
                        JWT_ISSUER: ~
                        JWT_AUDIENCE:
                        """);
        assertEquals(7000, settings.get(Variables.PORT));
        assertEquals(true, settings.get(JwtVariables.JWT_ENABLED));
        assertEquals("0123", settings.get(Variables.PG_PASSWORD));
        assertEquals("null", settings.get(Variables.PG_USER));
        assertEquals("2026-11-30", settings.get(Variables.SERVER_ID));
        assertEquals("db-1,db-2", settings.get(Variables.PG_HOST));
        assertEquals(List.of(), settings.get(JwtVariables.JWT_SKIP_PATHS));
        assertEquals(Optional.empty(), settings.find(JwtVariables.JWT_ISSUER));
        assertEquals(Optional.empty(), settings.find(JwtVariables.JWT_AUDIENCE));
        assertEquals(6632, settings(Map.of(), "# nothing\n").get(Variables.PORT));
    }

    @Test
    void theEnvironmentWinsByWhicheverName() throws IOException {
        String yaml = "PG_DATABASE: of-file\nPORT: 7000\nPG_USER: of-file\n";
        Map<String, String> environment =
                Map.of("PG_DB", "of-environment", "PORT", "7001", "PG_USER", "");
        Settings settings = settings(environment, yaml);
        assertEquals("of-environment", settings.get(Variables.PG_DATABASE));
        assertEquals(7001, settings.get(Variables.PORT));
        assertEquals("of-file", settings.get(Variables.PG_USER));
    }

    @Test
    void theEnvironmentNamesTheFileUnlessSomebodyElseDoes() throws IOException {
        Files.writeString(file, "PORT: 7000\n");
        Settings environment = Settings.of(Map.of("QUEEN_CONFIG", file.toString()));
        assertEquals(7000, environment.withFile(Optional.empty()).get(Variables.PORT));
        Path other = Files.writeString(folder.resolve("other.yaml"), "PORT: 7001\n");
        assertEquals(7001, environment.withFile(Optional.of(other)).get(Variables.PORT));
        assertEquals(6632, Settings.of(Map.of()).withFile(Optional.empty()).get(Variables.PORT));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "PRT: 1 | 1: \"PRT\" is no setting: did you mean PORT?",
                "port: 1 | 1: \"port\" is no setting: did you mean PORT?",
                "colour: red | 1: \"colour\" is no setting",
                "'PORT: 1\nPG_USR: a' | 2: \"PG_USR\" is no setting: did you mean PG_USER?",
                "'PORT: 1\nPORT: 2' | 2: PORT stands there twice",
                "PORT: {a: 1} | 1: PORT must be a value or a list of values",
                "PG_HOST: [[a]] | 1: PG_HOST must be a value or a list of values",
                "- PORT | 1: names and values are expected, as in PORT: 6632",
                "QUEEN_CONFIG: x | 1: QUEEN_CONFIG names a file and stands in none"
            })
    void whatIsNoSettingIsRefusedWithItsLine(String yaml, String sentence) {
        assertEquals(file + " line " + sentence, refusal(yaml));
    }

    @Test
    void aBadValueNamesTheFile() throws IOException {
        Settings settings = settings(Map.of(), "PORT: many\n");
        assertEquals(
                "PORT must be a whole number from 0 to 65535, got \"many\" in " + file,
                assertThrows(BadSetting.class, () -> settings.get(Variables.PORT)).getMessage());
    }

    @Test
    void noSecretIsRepeatedWhereTheFileIsBroken() {
        for (String broken :
                List.of(
                        "\"hidden",
                        "*hidden",
                        "@hidden",
                        "%hidden",
                        "[hidden",
                        "hid: den",
                        "\t- hidden")) {
            String sentence = refusal("PORT: 1\nPG_PASSWORD: " + broken + "\n");
            assertFalse(sentence.contains("hid"), sentence);
            assertTrue(sentence.startsWith(file + " line "), sentence);
        }
    }

    @Test
    void aFileThatIsNotThereIsNamed() {
        assertEquals(
                "QUEEN_CONFIG must be a file, and " + file + " is not there",
                assertThrows(
                                BadSetting.class,
                                () -> Settings.of(Map.of()).withFile(Optional.of(file)))
                        .getMessage());
    }

    @Test
    void settingsOfOtherVersionsAreAcceptedThere() throws IOException {
        assertEquals(
                List.of("QUEEN_MESH_PEERS"),
                settings(Map.of(), "QUEEN_MESH_PEERS: [a, b]\n").withoutEffect());
    }
}
