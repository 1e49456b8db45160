package io.queenmq.admin;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.web.JsonBuffer;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * A stored payload as people see it: in the clear where the broker has the key, byte for byte if it
 * is JSON, else as a string of base64.
 *
 * @param json the text
 * @param opened whether it was encrypted and is shown in the clear
 */
record PayloadText(Slice json, boolean opened) {
    private static final PayloadText NONE =
            new PayloadText(Slice.of(JsonBuffer.ascii("null")), false);

    static PayloadText of(byte @Nullable [] stored, int flags, PayloadCipher cipher) {
        if (stored == null) {
            return NONE;
        }
        Slice payload = cipher.open(Slice.of(stored));
        // An envelope is longer than what it holds.
        boolean opened = payload.length() < stored.length;
        // And it is JSON, whatever it holds.
        boolean envelope = !opened && (flags & Frame.ENCRYPTED) != 0;
        if ((flags & Frame.NOT_JSON) == 0 || envelope) {
            return new PayloadText(payload, opened);
        }
        byte[] text = Base64.getEncoder().encode(payload.copy());
        JsonBuffer json = new JsonBuffer(text.length + 2).raw('"').raw(text).raw('"');
        return new PayloadText(Slice.of(json.toBytes()), opened);
    }
}
