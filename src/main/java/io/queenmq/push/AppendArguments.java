package io.queenmq.push;

import io.queenmq.dedup.KeyMemory;
import io.queenmq.segment.Segment;
import java.util.List;

/**
 * What append takes, column by column: per lane-batch where it goes and what is known of its keys,
 * per segment its bytes.
 *
 * @param lanes their numbers; negative = the number is of a server that is gone
 * @param vouchedFrom with {@code vouchedTo} the offsets at which none of the keys occurs
 * @param settleAbove empty at the first attempt
 * @param segmentLanes place of the lane-batch in the other columns, from 1
 */
public record AppendArguments(
        long[] lanes,
        long[] flushIds,
        long[] vouchedFrom,
        long[] vouchedTo,
        long[] settleAbove,
        int[] segmentLanes,
        int[] segmentCounts,
        byte[][] keys,
        byte[][] frames) {

    /**
     * Asks the memory what it can say, so the server must have been checked before.
     *
     * @param settle whether each may be stored already, its answer lost
     */
    static AppendArguments of(List<Attempt> attempts, KeyMemory memory, boolean settle) {
        int lanes = attempts.size();
        int segments = 0;
        for (Attempt attempt : attempts) {
            segments += attempt.segments().size();
        }
        AppendArguments arguments =
                new AppendArguments(
                        new long[lanes],
                        new long[lanes],
                        new long[lanes],
                        new long[lanes],
                        new long[settle ? lanes : 0],
                        new int[segments],
                        new int[segments],
                        new byte[segments][],
                        new byte[segments][]);
        int at = 0;
        for (int i = 0; i < lanes; i++) {
            Attempt attempt = attempts.get(i);
            attempt.vouch(memory);
            // The number may mean another lane by now: nothing is stored there. But what settles is
            // looked for there, for after most fail-overs the commit is still to be found.
            arguments.lanes[i] = attempt.isOutdated() ? -attempt.number() : attempt.number();
            arguments.flushIds[i] = attempt.flushId();
            arguments.vouchedFrom[i] = attempt.vouched().from();
            arguments.vouchedTo[i] = attempt.vouched().to();
            if (settle) {
                arguments.settleAbove[i] = attempt.settleAbove();
            }
            for (Segment segment : attempt.segments()) {
                arguments.segmentLanes[at] = i + 1;
                arguments.segmentCounts[at] = segment.messageCount();
                arguments.keys[at] = segment.keys();
                arguments.frames[at] = segment.frames();
                at++;
            }
        }
        return arguments;
    }
}
