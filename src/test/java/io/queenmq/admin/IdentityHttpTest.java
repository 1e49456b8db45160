package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.testkit.TokenKey;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What a dashboard asks about who uses it. */
class IdentityHttpTest {
    private static final String SECRET = "the secret of a broker that asks for tokens";

    private static TestDatabase database;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void stop() {
        database.close();
    }

    private static String profile(String user, boolean operator, String role) {
        return """
        {"user_id":%1$s,"email":null,"tenant_slug":"local","is_operator":%2$s,\
        "operator_enabled":true,"operator_live":%2$s,\
        "acting_cluster":{"id":"local","slug":"local"},\
        "clusters":[{"id":"local","slug":"local","role":%3$s,"tenant_slug":"local",\
        "tenant_id":"00000000-0000-0000-0000-000000000001","status":"active",\
        "cell_slug":"broker-7"}],\
        "act_cluster_header":"x-queen-act-cluster","role":%3$s,"cluster":null,\
        "standalone":true}"""
                .formatted(user, operator, role);
    }

    @Test
    @Contract("identity-1")
    void whereNobodyIsAskedEverybodyIsTheAdministrator() {
        try (TestBroker broker =
                TestBroker.withEnvironment(database, Map.of("QUEEN_SERVER_ID", "broker-7"))) {
            Http.Reply me = broker.http().authorized("Bearer x").get("/auth/me");
            assertEquals(200, me.status());
            assertEquals(profile("\"standalone\"", true, "\"admin\""), me.body());
            Http.Reply login = broker.http().get("/auth/login");
            assertEquals(303, login.status());
            assertEquals(Optional.of("/"), login.response().headers().firstValue("location"));
            Http.Reply logout = broker.http().post("/auth/logout", "");
            assertEquals("200 {\"ok\":true}", logout.status() + " " + logout.body());
        }
    }

    @Test
    @Contract("identity-1")
    void whereTokensAreAskedForItIsWhoTheTokenSays() {
        TokenKey key = TokenKey.secret(SECRET);
        Map<String, String> environment =
                Map.of("QUEEN_SERVER_ID", "broker-7", "JWT_ENABLED", "true", "JWT_SECRET", SECRET);
        try (TestBroker broker = TestBroker.withEnvironment(database, environment)) {
            Http http = broker.http();
            for (String token : new String[] {"", "x", key.token("HS256", "{\"exp\":1}")}) {
                Http.Reply refused = http.authorized(token).get("/auth/me");
                assertEquals(401, refused.status());
                assertEquals(
                        "{\"error\":\"auth_required\",\"code\":\"auth_required\"}", refused.body());
            }
            String[][] tokens = {
                {"{\"sub\":\"ada\",\"role\":\"admin\"}", profile("\"ada\"", true, "\"admin\"")},
                {
                    "{\"sub\":\"bob\",\"roles\":[\"read-only\",\"read-write\"]}",
                    profile("\"bob\"", false, "\"read-write\"")
                },
                {"{\"role\":\"write-only\"}", profile("null", false, "\"write-only\"")},
                {"{}", profile("null", false, "null")},
            };
            for (String[] token : tokens) {
                Http bearer = http.authorized(key.token("HS256", token[0]));
                assertEquals(token[1], bearer.get("/auth/me").body());
            }
            Http.Reply login = http.get("/auth/login");
            assertEquals(200, login.status());
            assertTrue(login.body().contains("Authorization: Bearer"));
            assertEquals(
                    Optional.of("default-src 'none'; frame-ancestors 'none'"),
                    login.response().headers().firstValue("content-security-policy"));
            assertEquals(
                    Optional.of("text/html; charset=utf-8"),
                    login.response().headers().firstValue("content-type"));
            assertEquals("{\"ok\":true}", http.post("/auth/logout", "").body());
        }
    }
}
