package io.queenmq;

import io.queenmq.config.BadSetting;
import io.queenmq.config.Settings;
import io.queenmq.config.TlsVariables;
import io.queenmq.config.Variable;
import io.queenmq.db.Tls;
import java.util.Optional;

/** How the settings want connections to PostgreSQL to be encrypted. */
final class TlsSettings {
    private TlsSettings() {}

    /**
     * What is set is looked at, whether it is used or not.
     *
     * @throws BadSetting naming the variable
     */
    static Tls of(Settings settings) {
        Optional<String> authorities = settings.find(TlsVariables.ROOT_CERT);
        Optional<Tls.Identity> identity = identity(settings);
        Tls.Mode mode = mode(settings);
        return mode == Tls.Mode.DISABLE ? Tls.NONE : new Tls(mode, authorities, identity);
    }

    private static Tls.Mode mode(Settings settings) {
        Optional<Boolean> use = settings.find(TlsVariables.USE_SSL);
        Optional<Boolean> strict = settings.find(TlsVariables.REJECT_UNAUTHORIZED);
        Tls.Mode mode = Tls.Mode.of(settings.get(TlsVariables.SSL_MODE));
        if (settings.find(TlsVariables.SSL_MODE).isEmpty()) {
            return mode;
        }
        if (use.isPresent() && use.get() == (mode == Tls.Mode.DISABLE)) {
            throw contradiction(mode, TlsVariables.USE_SSL, use.get());
        }
        if (strict.isPresent() && strict.get() != mode.verifies() && mode != Tls.Mode.DISABLE) {
            throw contradiction(mode, TlsVariables.REJECT_UNAUTHORIZED, strict.get());
        }
        return mode;
    }

    private static BadSetting contradiction(
            Tls.Mode mode, Variable<Boolean> variable, boolean value) {
        return new BadSetting(
                "PG_SSL_MODE is %s and %s is %s: set one of them"
                        .formatted(mode.word(), variable.name(), value));
    }

    private static Optional<Tls.Identity> identity(Settings settings) {
        Optional<String> chain = settings.find(TlsVariables.CERT);
        Optional<String> key = settings.find(TlsVariables.KEY);
        if (chain.isPresent() != key.isPresent()) {
            throw new BadSetting(
                    "%s must be set where %s is"
                            .formatted(
                                    (chain.isPresent() ? TlsVariables.KEY : TlsVariables.CERT)
                                            .name(),
                                    (chain.isPresent() ? TlsVariables.CERT : TlsVariables.KEY)
                                            .name()));
        }
        return chain.map(pem -> new Tls.Identity(pem, key.orElseThrow()));
    }
}
