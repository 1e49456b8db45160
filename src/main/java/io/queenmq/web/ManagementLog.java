package io.queenmq.web;

import io.queenmq.model.Caller;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** What operators did: a line for each, however many there are at once. Any thread. */
final class ManagementLog {
    private static final System.Logger LOG = System.getLogger(ManagementLog.class.getName());

    /** With these a subject could say more than its name. */
    private static final Pattern FORGING = Pattern.compile("[\\s\\p{C}\\p{Z}=%]");

    private static final HexFormat HEX = HexFormat.of().withPrefix("%").withUpperCase();

    private ManagementLog() {}

    /**
     * Tells of a call that took effect.
     *
     * @param path as it came, names percent-encoded
     */
    static void tell(String method, String path, Caller caller) {
        LOG.log(
                System.Logger.Level.INFO,
                "management method={0} path={1} tenant={2} sub={3}",
                method,
                path,
                caller.tenant(),
                caller.subject() == null ? "-" : encoded(caller.subject()));
    }

    private static String encoded(String subject) {
        return FORGING.matcher(subject)
                .replaceAll(found -> HEX.formatHex(found.group().getBytes(StandardCharsets.UTF_8)));
    }
}
