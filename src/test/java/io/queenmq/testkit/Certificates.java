package io.queenmq.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * A certificate that vouches for itself, and its key, in PEM: made by the JDK's own tool, for the
 * JDK has no class for it.
 */
public record Certificates(String certificate, String key) {
    private static final String PASSWORD = "password";
    private static final String ALIAS = "it";
    private static final String AUTHORITY = "authority";
    private static final List<String> HOLDS = List.of("-validity", "3650");
    private static final List<String> IS_OVER = List.of("-startdate", "-10d", "-validity", "5");

    /** What somebody vouches for, and the certificate of who does. */
    public record Issued(Certificates certificates, String authority) {}

    /**
     * Makes one that holds for ten years.
     *
     * @param names what it is for, as in {@code dns:localhost}; empty = it says of nothing
     */
    public static Certificates of(String commonName, String names)
            throws IOException, InterruptedException, GeneralSecurityException {
        return make(store -> store.add(ALIAS, commonName, names, HOLDS)).certificates();
    }

    /** The same, over since five days. */
    public static Certificates expired(String commonName, String names)
            throws IOException, InterruptedException, GeneralSecurityException {
        return make(store -> store.add(ALIAS, commonName, names, IS_OVER)).certificates();
    }

    /** The same, of an authority that still holds. */
    public static Issued issuedAndExpired(String commonName, String names)
            throws IOException, InterruptedException, GeneralSecurityException {
        return make(
                store -> {
                    store.add(AUTHORITY, "authority", "", HOLDS);
                    List<String> signed = new ArrayList<>(IS_OVER);
                    signed.addAll(List.of("-signer", AUTHORITY));
                    store.add(ALIAS, commonName, names, signed);
                });
    }

    /** Fills a store. */
    private interface Entries {
        void of(Store store) throws IOException, InterruptedException;
    }

    private static Issued make(Entries entries)
            throws IOException, InterruptedException, GeneralSecurityException {
        Path folder = Files.createTempDirectory("queen-certificate-");
        Store store = new Store(folder.resolve("store.p12"));
        try {
            entries.of(store);
            return store.read();
        } finally {
            Files.deleteIfExists(store.file());
            Files.delete(folder);
        }
    }

    /** Keys and certificates in a file of the JDK's tool. */
    private record Store(Path file) {
        void add(String alias, String commonName, String names, List<String> more)
                throws IOException, InterruptedException {
            List<String> command =
                    new ArrayList<>(
                            List.of(
                                    Path.of(System.getProperty("java.home"), "bin", "keytool")
                                            .toString(),
                                    "-J-XX:TieredStopAtLevel=1",
                                    "-genkeypair",
                                    "-alias",
                                    alias,
                                    "-keyalg",
                                    "EC",
                                    "-groupname",
                                    "secp256r1",
                                    "-dname",
                                    "CN=" + commonName,
                                    "-ext",
                                    "bc:c",
                                    "-storetype",
                                    "PKCS12",
                                    "-storepass",
                                    PASSWORD,
                                    "-keystore",
                                    file.toString()));
            if (!names.isEmpty()) {
                command.addAll(List.of("-ext", "san=" + names));
            }
            command.addAll(more);
            Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
            String said =
                    new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (keytool.waitFor() != 0) {
                throw new IOException(said);
            }
        }

        Issued read() throws IOException, GeneralSecurityException {
            KeyStore store = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(file)) {
                store.load(in, PASSWORD.toCharArray());
            }
            Key key = store.getKey(ALIAS, PASSWORD.toCharArray());
            Certificate[] chain = store.getCertificateChain(ALIAS);
            return new Issued(
                    new Certificates(
                            pem("CERTIFICATE", chain[0].getEncoded()),
                            pem("PRIVATE KEY", key.getEncoded())),
                    pem("CERTIFICATE", chain[chain.length - 1].getEncoded()));
        }
    }

    private static String pem(String kind, byte[] der) {
        return "-----BEGIN %s-----\n%s\n-----END %s-----\n"
                .formatted(
                        kind,
                        Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der),
                        kind);
    }
}
