package io.queenmq.hint;

import java.util.List;

/** What to do with hints of others; called from the thread of a carrier, which they may hold up. */
public interface HintSink {
    /** These lanes have new messages. */
    void lanesWritten(List<Long> numbers);

    /** Leases of these lanes ended before all was acknowledged. */
    void lanesFreed(List<Long> numbers);

    /** Any lane of the queue may have been written or freed. */
    void queueWritten(int queueId);

    /** Options, labels or groups of the queue changed, or it was deleted. */
    void queueChanged(int queueId);

    /** A message is scheduled for this time, in ms since 1970, and none for an earlier one. */
    void timerDue(long atMs);

    /** Hints were lost: anything may have happened. */
    void everythingChanged();
}
