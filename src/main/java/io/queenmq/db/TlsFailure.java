package io.queenmq.db;

import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.sql.SQLException;
import java.util.Optional;
import javax.net.ssl.SSLException;

/**
 * Why a connection did not come about, where it is for its encryption: in words that say what to
 * do, for the driver shows what Java's own classes say. Such a connection does not come about later
 * either.
 */
final class TlsFailure {
    /** The driver's own word for a server that answered and was not understood. */
    private static final String REJECTED = "08004";

    private static final String UNAUTHORIZED = "28000";

    /** The file of the server that says who may come, and how. */
    private static final String HBA = "pg_hba.conf";

    private TlsFailure() {}

    /** The sentence for the operator. */
    static String sentence(DatabaseConfig config, SQLException error) {
        return find(config, error).or(() -> Pooling.find(error)).orElseGet(() -> said(error));
    }

    /** The driver says no more than that it failed where the network knows why. */
    private static String said(SQLException error) {
        return switch (error.getCause()) {
            case UnknownHostException unknown ->
                    "there is no machine of the name " + unknown.getMessage();
            case SocketTimeoutException late -> error.getMessage() + " (" + late.getMessage() + ")";
            case null, default -> String.valueOf(error.getMessage());
        };
    }

    /** Empty = it is for something else. */
    static Optional<String> find(DatabaseConfig config, SQLException error) {
        Tls.Mode mode = config.tls().mode();
        if (mode == Tls.Mode.DISABLE) {
            return Optional.of(error)
                    .filter(e -> Refusals.stateOf(e).equals(UNAUTHORIZED) && says(e, HBA))
                    .map(
                            e ->
                                    e.getMessage()
                                            + " (connections are not encrypted:"
                                            + " PG_USE_SSL=true encrypts them)");
        }
        if (Refusals.stateOf(error).equals(REJECTED) && says(error, "SSL")) {
            return Optional.of(
                    "the server does not encrypt connections, and PG_SSL_MODE %s asks for it: switch ssl"
                                    .formatted(mode.word())
                            + " on there, or PG_USE_SSL off here");
        }
        return ofCause(config, error);
    }

    /** Words that are the same in every language. */
    private static boolean says(Throwable error, String words) {
        String message = error.getMessage();
        return message != null && message.contains(words);
    }

    private static Optional<String> ofCause(DatabaseConfig config, SQLException error) {
        Optional<String> found = Optional.empty();
        // The innermost cause knows best.
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            Optional<String> words = words(config, cause);
            found = words.isPresent() ? words : found;
        }
        return found;
    }

    private static Optional<String> words(DatabaseConfig config, Throwable cause) {
        return switch (cause) {
            case CertificateExpiredException _ ->
                    Optional.of("the server's certificate has expired");
            case CertificateNotYetValidException _ ->
                    Optional.of("the server's certificate is not valid yet: compare the clocks");
            case CertPathBuilderException _ ->
                    Optional.of(
                            "no authority that is trusted here vouches for the server's certificate:"
                                    + " set PG_SSL_ROOT_CERT to the one that issued it");
            case CertPathValidatorException e ->
                    Optional.of("the server's certificate does not hold: " + e.getMessage());
            case CertificateException e ->
                    Optional.of(
                            "the server's certificate is not for %s: %s; PG_HOST must be a name that is"
                                            .formatted(config.host(), e.getMessage())
                                    + " in it, or PG_SSL_MODE verify-ca");
            case SSLException e when says(e, "Received fatal alert") ->
                    Optional.of(
                            "the server refuses the broker's certificate, or that there is none: %s; see"
                                            .formatted(e.getMessage())
                                    + " PG_SSL_CERT and PG_SSL_KEY");
            default -> Optional.empty();
        };
    }
}
