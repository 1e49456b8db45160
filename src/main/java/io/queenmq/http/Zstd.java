package io.queenmq.http;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Payloads that came compressed: they are stored as the text they are, for others to read. */
final class Zstd {
    /** What a frame may make its reader keep: 16 MiB. */
    private static final int WINDOW_LOG_MAX = 24;

    private Zstd() {}

    /**
     * The content of a frame.
     *
     * @param bytesMax no more than that and one byte is unpacked
     * @return null = these bytes are no whole frame
     */
    static byte @Nullable [] unpacked(byte[] frame, int bytesMax) {
        try (ZstdInputStreamNoFinalizer content =
                new ZstdInputStreamNoFinalizer(new ByteArrayInputStream(frame))) {
            content.setLongMax(WINDOW_LOG_MAX);
            // Grows with what comes, not with what the frame promises.
            return content.readNBytes(bytesMax + 1);
        } catch (IOException e) {
            return null;
        }
    }
}
