package io.queenmq.db;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Objects;
import java.util.Properties;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;
import org.postgresql.ssl.NonValidatingFactory;
import org.postgresql.ssl.WrappedFactory;

/**
 * Makes the encrypted sockets of the driver, from certificates that are texts: the driver's own
 * factory reads files, anew with every connection, and a broker must not lose its database because
 * somebody tidied a folder. The driver calls it by its name, once per connection, with the
 * properties of that connection.
 */
public final class TlsSockets extends WrappedFactory {
    private static final String MODE = "queen.tls.mode";
    private static final String AUTHORITIES = "queen.tls.authorities";
    private static final String CHAIN = "queen.tls.chain";
    private static final String KEY = "queen.tls.key";
    private static final char[] NO_PASSWORD = {};

    private final Tls.Mode mode;

    /** Called by the driver. */
    public TlsSockets(Properties properties) throws GeneralSecurityException, IOException {
        mode = Tls.Mode.of(Objects.requireNonNull(properties.getProperty(MODE)));
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(
                identity(properties),
                mode.verifies()
                        ? authorities(properties)
                        : new TrustManager[] {new NonValidatingFactory.NonValidatingTM()},
                null);
        factory = context.getSocketFactory();
    }

    /** Tells the driver to connect in that way. */
    static void configure(Properties properties, Tls tls) {
        properties.setProperty("sslmode", tls.mode().word());
        if (tls.mode() == Tls.Mode.DISABLE) {
            return;
        }
        properties.setProperty("sslfactory", TlsSockets.class.getName());
        properties.setProperty(MODE, tls.mode().word());
        tls.authorities().ifPresent(pem -> properties.setProperty(AUTHORITIES, pem));
        tls.identity()
                .ifPresent(
                        identity -> {
                            properties.setProperty(CHAIN, identity.chain());
                            properties.setProperty(KEY, identity.key());
                        });
    }

    private static TrustManager[] authorities(Properties properties)
            throws GeneralSecurityException, IOException {
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        String pem = properties.getProperty(AUTHORITIES);
        trust.init(pem == null ? null : store(pem));
        TrustManager[] managers = trust.getTrustManagers();
        for (int i = 0; i < managers.length; i++) {
            if (managers[i] instanceof X509ExtendedTrustManager manager) {
                managers[i] = new TlsTime(manager);
            }
        }
        return managers;
    }

    private static KeyStore store(String pem) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        int number = 0;
        for (Certificate certificate : TlsPem.parse(pem)) {
            store.setCertificateEntry("authority-" + number++, certificate);
        }
        return store;
    }

    private static KeyManager @Nullable [] identity(Properties properties)
            throws GeneralSecurityException, IOException {
        String chain = properties.getProperty(CHAIN);
        if (chain == null) {
            return null;
        }
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        store.setKeyEntry(
                "broker",
                TlsPem.key(Objects.requireNonNull(properties.getProperty(KEY))),
                NO_PASSWORD,
                TlsPem.parse(chain).toArray(Certificate[]::new));
        KeyManagerFactory keys =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, NO_PASSWORD);
        return keys.getKeyManagers();
    }

    /**
     * The driver itself looks at the name after the handshake, and says nothing of the names that
     * there are; this lets the handshake fail, with a cause.
     */
    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose)
            throws IOException {
        Socket made = super.createSocket(socket, host, port, autoClose);
        if (mode == Tls.Mode.VERIFY_FULL && made instanceof SSLSocket tls) {
            SSLParameters parameters = tls.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            tls.setSSLParameters(parameters);
        }
        return made;
    }
}
