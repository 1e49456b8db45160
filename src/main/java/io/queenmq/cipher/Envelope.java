package io.queenmq.cipher;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.model.Slice;
import java.io.IOException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A payload as an encrypted queue stores it: a JSON object with three strings in base64, and the
 * name of the key. Readers that know of one key pass over the name. Pure.
 *
 * @param keyId null = it was written before keys had names
 * @param iv 16 bytes, of which the first {@link #NONCE_BYTES} are the nonce
 * @param authTag 16 bytes
 */
record Envelope(@Nullable String keyId, byte[] encrypted, byte[] iv, byte[] authTag) {
    static final int IV_BYTES = 16;
    static final int NONCE_BYTES = 12;
    static final int TAG_BYTES = 16;

    private static final String ENCRYPTED = "encrypted";
    private static final String IV = "iv";
    private static final String AUTH_TAG = "authTag";
    private static final String KEY_ID = "kid";
    private static final JsonFactory JSON = new JsonFactory();

    Slice toJson() {
        Base64.Encoder base64 = Base64.getEncoder();
        return Slice.utf8(
                "{\"encrypted\":\""
                        + base64.encodeToString(encrypted)
                        + "\",\"iv\":\""
                        + base64.encodeToString(iv)
                        + "\",\"authTag\":\""
                        + base64.encodeToString(authTag)
                        + (keyId == null ? "" : "\",\"kid\":\"" + keyId)
                        + "\"}");
    }

    /** What the payload holds if it has the shape of an envelope, whoever wrote it; else null. */
    static @Nullable Envelope read(Slice payload) {
        if (!begins(payload)) {
            return null;
        }
        String keyId = null;
        byte[] encrypted = null;
        byte[] iv = null;
        byte[] authTag = null;
        try (JsonParser json =
                JSON.createParser(payload.array(), payload.offset(), payload.length())) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return null;
            }
            for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
                if (json.nextToken() != JsonToken.VALUE_STRING) {
                    return null;
                }
                switch (name) {
                    case ENCRYPTED -> encrypted = base64(json.getText());
                    case IV -> iv = base64(json.getText());
                    case AUTH_TAG -> authTag = base64(json.getText());
                    case KEY_ID -> keyId = json.getText();
                    default -> {
                        return null;
                    }
                }
            }
            if (json.currentToken() != JsonToken.END_OBJECT) {
                return null;
            }
        } catch (IOException | IllegalArgumentException e) {
            // No JSON or no base64: an ordinary payload.
            return null;
        }
        return encrypted == null
                        || iv == null
                        || authTag == null
                        || iv.length != IV_BYTES
                        || authTag.length != TAG_BYTES
                ? null
                : new Envelope(keyId, encrypted, iv, authTag);
    }

    private static byte[] base64(String text) {
        return Base64.getDecoder().decode(text);
    }

    /** Whether the first name is one of an envelope's: tells nearly all others at once. */
    private static boolean begins(Slice payload) {
        int at = skipBlanks(payload, 0);
        if (at >= payload.length() || byteAt(payload, at) != '{') {
            return false;
        }
        at = skipBlanks(payload, at + 1);
        return startsWith(payload, at, "\"encrypted\"")
                || startsWith(payload, at, "\"iv\"")
                || startsWith(payload, at, "\"authTag\"");
    }

    private static int skipBlanks(Slice payload, int from) {
        int at = from;
        while (at < payload.length() && byteAt(payload, at) <= ' ' && byteAt(payload, at) > 0) {
            at++;
        }
        return at;
    }

    private static boolean startsWith(Slice payload, int at, String text) {
        if (payload.length() - at < text.length()) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            if (byteAt(payload, at + i) != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    private static byte byteAt(Slice payload, int at) {
        return payload.array()[payload.offset() + at];
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Envelope that
                && Objects.equals(keyId, that.keyId)
                && Arrays.equals(encrypted, that.encrypted)
                && Arrays.equals(iv, that.iv)
                && Arrays.equals(authTag, that.authTag);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(authTag);
    }
}
