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
     * @param done how much it did; negative = there is nothing to count
     */
    static void tell(String method, String path, Caller caller, long done) {
        LOG.log(
                System.Logger.Level.INFO,
                "management method={0} path={1} tenant={2} sub={3}"
                        + (done < 0 ? "" : " done=" + done),
                method,
                path,
                caller.tenant(),
                subject(caller));
    }

    /** Tells of a call that failed after it had done so much. */
    static void tellOfPart(String method, String path, Caller caller, long done) {
        LOG.log(
                System.Logger.Level.WARNING,
                "management method={0} path={1} tenant={2} sub={3} done={4} outcome=failed",
                method,
                path,
                caller.tenant(),
                subject(caller),
                Long.toString(done));
    }

    private static String subject(Caller caller) {
        return caller.subject() == null ? "-" : encoded(caller.subject());
    }

    private static String encoded(String subject) {
        return FORGING.matcher(subject)
                .replaceAll(found -> HEX.formatHex(found.group().getBytes(StandardCharsets.UTF_8)));
    }
}
