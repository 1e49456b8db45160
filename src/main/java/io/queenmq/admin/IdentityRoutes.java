package io.queenmq.admin;

import io.queenmq.access.Access;
import io.queenmq.access.Identity;
import io.queenmq.access.Level;
import io.queenmq.access.Role;
import io.queenmq.model.Caller;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * {@code /auth}: who a dashboard is used by, in the shape that it expects. A broker has one cluster
 * and no sessions, so logging in and out changes nothing.
 */
final class IdentityRoutes {
    private static final int UNAUTHENTICATED = 401;
    private static final JsonBuffer AUTH_REQUIRED =
            new JsonBuffer(64).raw("{\"error\":\"auth_required\",\"code\":\"auth_required\"}");

    private static final String LOGIN_PAGE =
            """
            <!doctype html>
            <html lang="en">
            <title>Queen</title>
            <h1>This broker asks for tokens</h1>
            <p>It has no sessions and no passwords. Send a token of your identity provider with every
            request, <code>Authorization: Bearer TOKEN</code>, or come through a proxy that does.
            <a href="/openapi/ui">The page of its routes</a> sends requests with a token that you type
            there.</p>
            </html>
            """;

    /** Where nobody is asked who they are everybody is this one. */
    private static final Identity ANYBODY = new Identity("standalone", Set.of(Role.ADMIN));

    private final Access access;
    private final String serverId;

    IdentityRoutes(Access access, String serverId) {
        this.access = access;
        this.serverId = serverId;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.PUBLIC, "/auth/me", this::me)
                .read(Level.PUBLIC, "/auth/login", this::login)
                .route(Level.PUBLIC, "POST", "/auth/logout", IdentityRoutes::logout);
    }

    private void me(Exchange exchange) {
        Optional<Identity> identity =
                access.isEnforced()
                        ? access.identify(exchange.authorization())
                        : Optional.of(ANYBODY);
        if (identity.isPresent()) {
            exchange.ok(profile(identity.get()));
        } else {
            exchange.refuse(UNAUTHENTICATED, AUTH_REQUIRED);
        }
    }

    private void login(Exchange exchange) {
        if (access.isEnforced()) {
            exchange.page(LOGIN_PAGE);
        } else {
            exchange.seeOther("/");
        }
    }

    private static void logout(Exchange exchange) {
        exchange.ok(new JsonBuffer(16).raw("{\"ok\":true}"));
    }

    private JsonBuffer profile(Identity identity) {
        boolean operator = identity.roles().contains(Role.ADMIN);
        String role = identity.highest().map(Role::id).orElse(null);
        JsonBuffer json = new JsonBuffer(640).raw("{\"user_id\":").string(identity.subject());
        json.raw(",\"email\":null,\"tenant_slug\":\"local\",\"is_operator\":").bool(operator);
        json.raw(",\"operator_enabled\":true,\"operator_live\":").bool(operator);
        json.raw(",\"acting_cluster\":{\"id\":\"local\",\"slug\":\"local\"},\"clusters\":[");
        cluster(json, role);
        json.raw("],\"act_cluster_header\":\"x-queen-act-cluster\",\"role\":").string(role);
        return json.raw(",\"cluster\":null,\"standalone\":true}");
    }

    private void cluster(JsonBuffer json, @Nullable String role) {
        json.raw("{\"id\":\"local\",\"slug\":\"local\",\"role\":").string(role);
        json.raw(",\"tenant_slug\":\"local\",\"tenant_id\":").uuid(Caller.DEFAULT_TENANT);
        json.raw(",\"status\":\"active\",\"cell_slug\":").string(serverId).raw('}');
    }
}
