package io.queenmq.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;

/**
 * A certificate that vouches for itself, and its key, in PEM: made by the JDK's own tool, for the
 * JDK has no class for it.
 */
public record Certificates(String certificate, String key) {
    private static final String PASSWORD = "password";
    private static final String ALIAS = "it";

    /**
     * Makes one.
     *
     * @param names what it is for, as in {@code dns:localhost}; empty = it says of nothing
     */
    public static Certificates of(String commonName, String names)
            throws IOException, InterruptedException, GeneralSecurityException {
        Path folder = Files.createTempDirectory("queen-certificate-");
        Path file = folder.resolve("store.p12");
        try {
            make(file, commonName, names.isEmpty() ? List.of() : List.of("-ext", "san=" + names));
            KeyStore store = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(file)) {
                store.load(in, PASSWORD.toCharArray());
            }
            Key key = store.getKey(ALIAS, PASSWORD.toCharArray());
            return new Certificates(
                    pem("CERTIFICATE", store.getCertificate(ALIAS).getEncoded()),
                    pem("PRIVATE KEY", key.getEncoded()));
        } finally {
            Files.deleteIfExists(file);
            Files.delete(folder);
        }
    }

    private static void make(Path file, String commonName, List<String> more)
            throws IOException, InterruptedException {
        List<String> command =
                Stream.concat(
                                Stream.of(
                                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                                .toString(),
                                        "-J-XX:TieredStopAtLevel=1",
                                        "-genkeypair",
                                        "-alias",
                                        ALIAS,
                                        "-keyalg",
                                        "EC",
                                        "-groupname",
                                        "secp256r1",
                                        "-dname",
                                        "CN=" + commonName,
                                        "-ext",
                                        "bc:c",
                                        "-validity",
                                        "3650",
                                        "-storetype",
                                        "PKCS12",
                                        "-storepass",
                                        PASSWORD,
                                        "-keystore",
                                        file.toString()),
                                more.stream())
                        .toList();
        Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (keytool.waitFor() != 0) {
            throw new IOException(said);
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
