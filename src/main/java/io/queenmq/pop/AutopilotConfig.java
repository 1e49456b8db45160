package io.queenmq.pop;

/**
 * How the broker chooses for pops that leave it the choice.
 *
 * @param batch messages of a pop that names no number
 * @param targetMillis lanes should not be ready for longer than that before a pop takes them
 * @param dwellMillis a width stays for so long
 * @param dwellLooks and for so many looks of pops
 * @param burst a pop that finds more lanes ready than the width may take up to so many; 0 = never
 * @param groupsMax groups whose width is remembered; of more, those that popped last
 */
public record AutopilotConfig(
        Mode mode,
        int batch,
        int targetMillis,
        int dwellMillis,
        int dwellLooks,
        int burst,
        int groupsMax) {

    /** What becomes of the choice. */
    public enum Mode {
        ON,
        /** It is made and counted, and the pop is as without it. */
        SHADOW,
        OFF
    }

    public static final AutopilotConfig DEFAULT =
            new AutopilotConfig(Mode.ON, 100, 25, 500, 16, 0, 50_000);

    public AutopilotConfig {
        if (batch < 1 || targetMillis < 1 || groupsMax < 1) {
            throw new IllegalArgumentException(
                    "batch, targetMillis and groupsMax must be at least 1");
        }
        if (dwellMillis < 0 || dwellLooks < 0 || burst < 0) {
            throw new IllegalArgumentException("dwell and burst must not be negative");
        }
    }
}
