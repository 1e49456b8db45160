package io.queenmq.pop;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.ready.GroupLanes;
import io.queenmq.runtime.Clock;
import java.util.LinkedHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Chooses what pops leave to the broker: how many lanes, how many messages. It reads memory only,
 * and a choice binds nobody: whatever is taken, a claim decides. Any thread.
 */
final class Autopilot {
    private final AutopilotConfig config;
    private final PopConfig bounds;
    private final Clock clock;
    private final Counter pops;
    private final Counter lanes;
    private final Counter forgotten;

    /** Guards the courses. */
    private final ReentrantLock coursesLock = new ReentrantLock();

    /** By group, those that popped last at the end. */
    private final LinkedHashMap<Integer, Course> courses = new LinkedHashMap<>(16, 0.75f, true);

    Autopilot(PopConfig bounds, Metrics metrics, Clock clock) {
        this.config = bounds.autopilot();
        this.bounds = bounds;
        this.clock = clock;
        this.pops =
                metrics.counter(
                        "queen_pop_autopilot_total",
                        "Looks for which autopilot chose, or would have chosen as a shadow.");
        this.lanes =
                metrics.counter(
                        "queen_pop_autopilot_lanes_total",
                        "Lanes that autopilot allowed them, or would have.");
        this.forgotten =
                metrics.counter(
                        "queen_pop_autopilot_forgotten_total",
                        "Groups whose width was forgotten because too many others popped.");
    }

    /** For a pop of a queue; null = nothing is chosen for it. {@link Pilot#end} must follow. */
    @Nullable Pilot pilot(PopRequest request) {
        return request.left() == null
                        || config.mode() == AutopilotConfig.Mode.OFF
                        || request.group().equals(PopRequest.QUEUE_MODE)
                ? null
                : new Pilot(request, request.left());
    }

    private Course course(int groupId) {
        coursesLock.lock();
        try {
            Course course = courses.computeIfAbsent(groupId, id -> new Course(config));
            if (courses.size() > config.groupsMax()) {
                courses.pollFirstEntry();
                forgotten.increment();
            }
            return course;
        } finally {
            coursesLock.unlock();
        }
    }

    /** Chooses for one pop; that pop's own thread only. */
    final class Pilot {
        private final PopRequest asked;
        private final PopRequest.Left left;
        private int groupId;
        private @Nullable Course course;
        private @Nullable Chosen chosen;

        private Pilot(PopRequest asked, PopRequest.Left left) {
            this.asked = asked;
            this.left = left;
        }

        /** The request as it is to be served, before its first claim of a look. */
        PopRequest steer(GroupLanes home) {
            Course.Choice choice = courseOf(home.groupId()).choose(home.load(), clock.nanos());
            pops.increment();
            lanes.increment(choice.width());
            if (config.mode() == AutopilotConfig.Mode.SHADOW) {
                return asked;
            }
            int batch = left.batch() ? config.batch() : asked.batch();
            int width = left.lanes() ? Math.min(choice.width(), batch) : asked.lanes();
            chosen =
                    new Chosen(
                            width <= 0 ? bounds.lanesMax() : Math.min(width, bounds.lanesMax()),
                            Math.min(batch, bounds.messagesMax()),
                            choice.pauseMillis());
            return asked.served(batch, width);
        }

        /** The result with what was chosen for it. */
        PopResult answer(PopRequest served, PopResult result) {
            if (course != null) {
                int messages = 0;
                for (PopResult.Lane lane : result.lanes()) {
                    for (PopResult.Batch batch : lane.batches()) {
                        messages += batch.count();
                    }
                }
                course.filled((double) messages / Math.min(served.batch(), bounds.messagesMax()));
            }
            return chosen == null ? result : result.with(chosen);
        }

        void end() {
            if (course != null) {
                course.leave();
                course = null;
            }
        }

        /** Its queue or group may be another one than at the last look. */
        private Course courseOf(int group) {
            if (course == null || groupId != group) {
                end();
                groupId = group;
                course = course(group);
                course.enter();
            }
            return course;
        }
    }
}
