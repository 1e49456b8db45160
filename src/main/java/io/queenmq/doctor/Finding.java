package io.queenmq.doctor;

/**
 * What a check has found.
 *
 * @param name of the check
 * @param advice what to do about it; with {@code OK} a hint, or empty
 */
public record Finding(String name, Level level, String found, String advice) {
    /** How bad it is. */
    public enum Level {
        OK,
        /** It works, and will be slow, or go wrong on some day. */
        WARN,
        /** Something that was promised does not hold, or a broker cannot use the server. */
        FAIL;

        /** As it is printed. */
        public String word() {
            return switch (this) {
                case OK -> "ok";
                case WARN -> "warn";
                case FAIL -> "fail";
            };
        }
    }
}
