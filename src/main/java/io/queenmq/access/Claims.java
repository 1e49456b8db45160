package io.queenmq.access;

import io.queenmq.model.Names;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a token with a good signature says.
 *
 * @param expires seconds since 1970; null = never
 * @param begins {@code nbf}; null = it always did
 * @param issued {@code iat}; null = it does not say
 */
record Claims(
        Identity identity, @Nullable Long expires, @Nullable Long begins, @Nullable Long issued) {

    /**
     * Reads what there is to read once and for all; the rest changes with the clock.
     *
     * @throws Unverified what it says is not what it must be
     */
    static Claims of(Map<String, Object> json, AccessConfig config) throws Unverified {
        Long expires = seconds(json, "exp");
        if (expires == null && config.requireExpiry()) {
            throw new Unverified(Refusal.ENDLESS);
        }
        if (config.issuer().isPresent() && !config.issuer().get().equals(json.get("iss"))) {
            throw new Unverified(Refusal.ISSUER);
        }
        if (config.audience().isPresent() && !names(json.get("aud"), config.audience().get())) {
            throw new Unverified(Refusal.AUDIENCE);
        }
        Identity identity = new Identity(subject(json.get("sub")), roles(json, config));
        return new Claims(identity, expires, seconds(json, "nbf"), seconds(json, "iat"));
    }

    private static @Nullable Long seconds(Map<String, Object> json, String claim)
            throws Unverified {
        Object value = json.get(claim);
        if (value == null) {
            return null;
        }
        if (value instanceof Number number) {
            return number.longValue();
        }
        throw new Unverified(Refusal.CLAIMS);
    }

    /** It is stored with every message that its bearer pushes. */
    private static @Nullable String subject(@Nullable Object value) throws Unverified {
        if (value == null || "".equals(value)) {
            return null;
        }
        if (value instanceof String subject && Names.isProducer(subject)) {
            return subject;
        }
        throw new Unverified(Refusal.CLAIMS);
    }

    private static boolean names(@Nullable Object claim, String wanted) {
        return wanted.equals(claim) || (claim instanceof List<?> list && list.contains(wanted));
    }

    private static Set<Role> roles(Map<String, Object> json, AccessConfig config) {
        Set<Role> roles = EnumSet.noneOf(Role.class);
        config.roleNames()
                .forEach(
                        (role, name) -> {
                            if (name.equals(json.get(config.roleClaim()))
                                    || (json.get(config.rolesClaim()) instanceof List<?> list
                                            && list.contains(name))) {
                                roles.add(role);
                            }
                        });
        return roles;
    }

    /**
     * Whose token it is, if it holds at that moment.
     *
     * @throws Unverified it does not
     */
    Identity at(Instant moment, Duration skew) throws Unverified {
        long now = moment.getEpochSecond();
        if (expires != null && expires < now - skew.toSeconds()) {
            throw new Unverified(Refusal.EXPIRED);
        }
        if (begins != null && begins > now + skew.toSeconds()) {
            throw new Unverified(Refusal.EARLY);
        }
        if (issued != null && issued > now + skew.toSeconds()) {
            throw new Unverified(Refusal.FUTURE);
        }
        return identity;
    }
}
