package io.queenmq.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SettingsTest {

    @Test
    void namesVariableValueAndRangeOfABadValue() {
        Settings settings = Settings.of(Map.of("PORT", "70000"));
        BadSetting refusal = assertThrows(BadSetting.class, () -> settings.get(Variables.PORT));
        assertEquals(
                "PORT must be a whole number from 0 to 65535, got \"70000\"", refusal.getMessage());
    }

    @Test
    void takesTheDefaultWhereNothingOrNothingButBlankIsSet() {
        assertEquals(6632, Settings.of(Map.of()).get(Variables.PORT));
        assertEquals(6632, Settings.of(Map.of("PORT", "")).get(Variables.PORT));
        assertEquals(Optional.empty(), Settings.of(Map.of()).find(Variables.EMBEDDED));
    }

    @Test
    void understandsOlderNamesAfterTheNewOne() {
        assertEquals("a", Settings.of(Map.of("PG_DB", "a")).get(Variables.PG_DATABASE));
        assertEquals(
                "b",
                Settings.of(Map.of("PG_DB", "a", "PG_DATABASE", "b")).get(Variables.PG_DATABASE));
    }

    @Test
    void aServerIsNamedWithoutPortAndNotByASocket() {
        for (String good :
                List.of("db", "db.example, 10.0.0.7", "::1", "[fe80::1]", "a-1_x,b", "dé")) {
            assertEquals(good, Settings.of(Map.of("PG_HOST", good)).get(Variables.PG_HOST));
        }
        for (String bad : List.of("/var/run/postgresql", "db:5433", "db,", "a b", "[::1]:5433")) {
            Settings settings = Settings.of(Map.of("PG_HOST", bad));
            assertEquals(
                    "PG_HOST must be names or addresses of machines, without a port, separated by"
                            + " commas, got \"%s\"".formatted(bad),
                    assertThrows(BadSetting.class, () -> settings.get(Variables.PG_HOST))
                            .getMessage());
        }
    }

    @Test
    void noMessageRepeatsWhatMayBeAPasswordInAnAddress() {
        String keys = "https://keys.example/set?token=hush";
        assertEquals(
                List.of("JWT_JWKS_URL=<35 characters>"),
                Settings.of(Map.of("JWT_JWKS_URL", keys)).changed());
        Settings settings = Settings.of(Map.of("PG_HOST", "postgres://u:hush@db/queen"));
        assertEquals(
                "PG_HOST must be names or addresses of machines, without a port, separated by"
                        + " commas, got a value of 26 characters",
                assertThrows(BadSetting.class, () -> settings.get(Variables.PG_HOST)).getMessage());
        for (String plain : List.of("https://keys.example/set", "me@server")) {
            assertEquals(
                    List.of("PG_USER=" + plain), Settings.of(Map.of("PG_USER", plain)).changed());
        }
    }

    @Test
    void readsFlagsInTheirManySpellings() {
        Map<String, Boolean> spellings =
                Map.of(
                        "true", true, "YES", true, " on ", true, "1", true, "False", false, "no",
                        false, "OFF", false, "0", false);
        spellings.forEach(
                (text, value) ->
                        assertEquals(
                                value,
                                Settings.of(Map.of("JWT_ENABLED", text))
                                        .get(JwtVariables.JWT_ENABLED),
                                text));
        Settings bad = Settings.of(Map.of("JWT_ENABLED", "ja"));
        assertEquals(
                "JWT_ENABLED must be true or false, yes or no, on or off, 1 or 0, got \"ja\"",
                assertThrows(BadSetting.class, () -> bad.get(JwtVariables.JWT_ENABLED))
                        .getMessage());
    }

    @Test
    void readsChoicesInAnyCase() {
        Settings settings = Settings.of(Map.of("DEFAULT_SUBSCRIPTION_MODE", "ALL"));
        assertEquals("all", settings.get(Variables.SUBSCRIPTION_MODE));
        Settings bad = Settings.of(Map.of("QUEEN_CONFIGURE_MODE", "patch"));
        assertEquals(
                "QUEEN_CONFIGURE_MODE must be replace or merge, got \"patch\"",
                assertThrows(BadSetting.class, () -> bad.get(Variables.CONFIGURE_MODE))
                        .getMessage());
    }

    @Test
    void aMalformedKeyIsRefusedWithoutBeingRepeated() {
        assertEquals(
                Optional.of("AB".repeat(32)),
                Settings.of(Map.of("QUEEN_ENCRYPTION_KEY", " " + "AB".repeat(32)))
                        .find(Variables.ENCRYPTION_KEY));
        for (String bad : List.of("ab".repeat(31), "ab".repeat(33), "xy".repeat(32))) {
            Settings settings = Settings.of(Map.of("QUEEN_ENCRYPTION_KEY", bad));
            assertEquals(
                    "QUEEN_ENCRYPTION_KEY must be 64 hexadecimal digits, 32 bytes, got a value of "
                            + bad.length()
                            + " characters",
                    assertThrows(BadSetting.class, () -> settings.find(Variables.ENCRYPTION_KEY))
                            .getMessage());
        }
    }

    @Test
    void ofSeveralKeysEachIsOne() {
        String one = "ab".repeat(32);
        assertEquals(
                Optional.of(List.of(one, one)),
                Settings.of(Map.of("QUEEN_ENCRYPTION_OLD_KEYS", one + ", " + one))
                        .find(Variables.ENCRYPTION_OLD_KEYS));
        for (String bad : List.of(one + ",", one + ",ab", one + " " + one)) {
            Settings settings = Settings.of(Map.of("QUEEN_ENCRYPTION_OLD_KEYS", bad));
            assertEquals(
                    "QUEEN_ENCRYPTION_OLD_KEYS must be 64 hexadecimal digits, 32 bytes each, got a"
                            + " value of "
                            + bad.length()
                            + " characters",
                    assertThrows(
                                    BadSetting.class,
                                    () -> settings.find(Variables.ENCRYPTION_OLD_KEYS))
                            .getMessage());
        }
    }

    @Test
    void namesVariablesThatLookLikeOursAndAreNot() {
        Settings settings =
                Settings.of(
                        Map.of(
                                "QUEEN_TYPO", "1",
                                "PG_HOTS", "db",
                                "JWT_ENABLE", "true",
                                "QUEEN_JAVA_OPTS", "-Xmx1g",
                                "QUEEN_DATA_DIR", "x",
                                "QUEEN_MESH_PEERS", "a,b",
                                "FILE_BUFFER_DIR", "/x",
                                "HOME", "/"));
        assertEquals(
                List.of(
                        "JWT_ENABLE: did you mean JWT_ENABLED?",
                        "PG_HOTS: did you mean PG_HOST?",
                        "QUEEN_TYPO"),
                settings.unknown());
        assertEquals(List.of("FILE_BUFFER_DIR", "QUEEN_MESH_PEERS"), settings.withoutEffect());
    }

    @Test
    void whatIsChangedIsListedWithoutSecrets() {
        assertEquals(
                List.of("PORT=7000", "PG_DATABASE=q", "PG_PASSWORD=<6 characters>"),
                Settings.of(
                                Map.of(
                                        "PORT",
                                        "7000",
                                        "PG_DB",
                                        "q",
                                        "PG_PASSWORD",
                                        "hidden",
                                        "PG_USER",
                                        ""))
                        .changed());
    }
}
