package io.queenmq.web;

import io.helidon.common.GenericType;
import io.helidon.common.buffers.BufferData;
import io.helidon.common.mapper.Value;
import io.helidon.http.Header;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderValues;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * A Content-Length that is not written. The server insists on one in a 204, where HTTP forbids it
 * and strict clients drop the connection over it; it is content with the look of this.
 */
final class NoContentLength implements Header {
    static final Header HEADER = new NoContentLength(HeaderValues.CONTENT_LENGTH_ZERO);

    private final Header zero;

    private NoContentLength(Header zero) {
        this.zero = zero;
    }

    @Override
    public void writeHttp1Header(BufferData buffer) {}

    @Override
    public String name() {
        return zero.name();
    }

    @Override
    public HeaderName headerName() {
        return zero.headerName();
    }

    @Override
    public String get() {
        return zero.get();
    }

    @Override
    public List<String> allValues() {
        return zero.allValues();
    }

    @Override
    public int valueCount() {
        return zero.valueCount();
    }

    @Override
    public boolean sensitive() {
        return zero.sensitive();
    }

    @Override
    public boolean changing() {
        return zero.changing();
    }

    @Override
    public <N> Value<N> as(Class<N> type) {
        return zero.as(type);
    }

    @Override
    public <N> Value<N> as(GenericType<N> type) {
        return zero.as(type);
    }

    @Override
    public <N> Value<N> as(Function<? super String, ? extends N> mapper) {
        return zero.as(mapper);
    }

    @Override
    public Optional<String> asOptional() {
        return zero.asOptional();
    }

    @Override
    public Value<Boolean> asBoolean() {
        return zero.asBoolean();
    }

    @Override
    public Value<String> asString() {
        return zero.asString();
    }

    @Override
    public Value<Integer> asInt() {
        return zero.asInt();
    }

    @Override
    public Value<Long> asLong() {
        return zero.asLong();
    }

    @Override
    public Value<Double> asDouble() {
        return zero.asDouble();
    }
}
