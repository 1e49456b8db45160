package io.queenmq.db;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Trusts whom another one trusts, while the certificate holds. Java itself asks for no date where a
 * certificate is among the authorities, as one that vouches for itself has to be; PostgreSQL's own
 * clients refuse it when its time is over.
 */
final class TlsTime extends X509ExtendedTrustManager {
    private final X509ExtendedTrustManager other;

    TlsTime(X509ExtendedTrustManager other) {
        this.other = other;
    }

    private static void inTime(X509Certificate[] chain) throws CertificateException {
        chain[0].checkValidity();
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String kind, Socket socket)
            throws CertificateException {
        other.checkServerTrusted(chain, kind, socket);
        inTime(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String kind, SSLEngine engine)
            throws CertificateException {
        other.checkServerTrusted(chain, kind, engine);
        inTime(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String kind)
            throws CertificateException {
        other.checkServerTrusted(chain, kind);
        inTime(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String kind, Socket socket)
            throws CertificateException {
        other.checkClientTrusted(chain, kind, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String kind, SSLEngine engine)
            throws CertificateException {
        other.checkClientTrusted(chain, kind, engine);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String kind)
            throws CertificateException {
        other.checkClientTrusted(chain, kind);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return other.getAcceptedIssuers();
    }
}
