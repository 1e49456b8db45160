package io.queenmq.loadtest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The one thread of the generator: sockets and timers. Everything that it calls, the verifier and
 * the histograms included, is confined to it and needs no lock.
 */
final class EventLoop implements AutoCloseable {
    private static final int READ_BYTES = 1 << 18;

    private record Timer(long dueNanos, long order, Runnable task) {}

    private final Selector selector;
    private final ByteBuffer readBuffer = ByteBuffer.allocateDirect(READ_BYTES);
    private final PriorityQueue<Timer> timers =
            new PriorityQueue<>(
                    Comparator.comparingLong(Timer::dueNanos).thenComparingLong(Timer::order));
    private long timersSet;

    EventLoop() {
        try {
            this.selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Selector selector() {
        return selector;
    }

    /** Where sockets read into; its content is copied out before the next read. */
    ByteBuffer readBuffer() {
        return readBuffer.clear();
    }

    /** Runs a task at that value of System.nanoTime(), or as soon as possible after it. */
    void at(long dueNanos, Runnable task) {
        timers.add(new Timer(dueNanos, timersSet++, task));
    }

    void after(long delay, TimeUnit unit, Runnable task) {
        at(System.nanoTime() + unit.toNanos(delay), task);
    }

    /** Turns while the condition holds; it is asked at least every 100 ms. */
    void runWhile(BooleanSupplier condition) {
        try {
            while (condition.getAsBoolean()) {
                turn();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void turn() throws IOException {
        long now = System.nanoTime();
        while (!timers.isEmpty() && timers.peek().dueNanos() <= now) {
            timers.remove().task().run();
        }
        long waitNanos = TimeUnit.MILLISECONDS.toNanos(100);
        if (!timers.isEmpty()) {
            waitNanos = Math.min(waitNanos, timers.peek().dueNanos() - System.nanoTime());
        }
        if (waitNanos < 50_000) {
            selector.selectNow(EventLoop::ready);
        } else {
            // Rounded up: a timer that comes a little late is better than a loop that spins.
            selector.select(EventLoop::ready, (waitNanos + 999_999) / 1_000_000);
        }
    }

    private static void ready(SelectionKey key) {
        ((HttpConnection) key.attachment()).ready();
    }

    @Override
    public void close() {
        try {
            for (SelectionKey key : selector.keys()) {
                key.channel().close();
            }
            selector.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
