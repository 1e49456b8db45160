package io.queenmq.maintain;

import static io.queenmq.maintain.StorageScene.NOW;
import static io.queenmq.maintain.StorageScene.ago;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random queues, rules, groups, cursors and ages: what expiry keeps is what a few lines over plain
 * objects keep, in one step for all lanes or in steps of one. A lane that a group holds may be
 * looked at later, but never gives up more than the model, and the same once it is looked at.
 */
class ExpirePropertyTest {
    private static final int ROUNDS = 25;
    private static final int AGE_MAX = 40;

    private record Segment(long base, long end, double age) {}

    private record Group(int id, @Nullable String rule, double beginsAgo, int generation) {}

    private static final class Lane {
        final long id;
        final List<Segment> segments = new ArrayList<>();
        final Map<Integer, Long> cursors = new HashMap<>();
        long start;

        Lane(long id) {
            this.id = id;
        }

        long next() {
            return segments.isEmpty() ? 0 : segments.getLast().end() + 1;
        }
    }

    private record Rules(boolean enabled, int retention, int completed, int longestWait) {
        boolean unread(double age) {
            return (enabled && retention > 0 && age > retention)
                    || (longestWait > 0 && age > longestWait);
        }

        boolean completed(double age) {
            return enabled && completed > 0 && age > completed;
        }
    }

    /** Offset up to which the group has read; null = it is not there. */
    private static @Nullable Long readTo(Lane lane, Group group) {
        Long cursor = lane.cursors.get(group.id());
        if (cursor != null) {
            return Math.max(cursor, lane.start - 1);
        }
        if (group.rule() == null) {
            return null;
        }
        if (group.rule().equals("all")) {
            return lane.start - 1;
        }
        return lane.segments.stream()
                .filter(s -> s.base() >= lane.start && s.age() > group.beginsAgo())
                .map(Segment::end)
                .max(Comparator.naturalOrder())
                .orElse(lane.start - 1);
    }

    private static long expectedStart(Lane lane, Rules rules, List<Group> groups) {
        List<Long> read = new ArrayList<>();
        for (Group group : groups) {
            Long to = readTo(lane, group);
            if (to != null) {
                read.add(to);
            }
        }
        long readByAll = read.stream().min(Comparator.naturalOrder()).orElse(-1L);
        long start = lane.start;
        for (Segment segment : lane.segments) {
            if (segment.base() < start) {
                continue;
            }
            if (rules.unread(segment.age())
                    || (rules.completed(segment.age()) && segment.end() <= readByAll)) {
                start = segment.end() + 1;
            } else {
                break;
            }
        }
        return start;
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void expiryKeepsWhatTheRulesKeep(long seed) throws SQLException {
        Random random = new Random(seed);
        int moved = 0;
        int held = 0;
        try (StorageScene scene = new StorageScene()) {
            for (int round = 0; round < ROUNDS; round++) {
                Rules rules =
                        new Rules(
                                random.nextInt(4) > 0,
                                pick(random),
                                pick(random),
                                random.nextInt(3) > 0 ? 0 : pick(random));
                int queue =
                        scene.queue(
                                "retention_enabled = " + rules.enabled(),
                                "retention_seconds = " + rules.retention(),
                                "completed_retention_seconds = " + rules.completed(),
                                "max_wait_seconds = " + rules.longestWait());
                List<Group> groups = groups(random, scene, queue);
                List<Lane> lanes = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    lanes.add(lane(random, scene, queue, groups));
                }
                for (int pass = 0; pass < 3; pass++) {
                    for (Lane lane : lanes) {
                        long expected = expectedStart(lane, rules, groups);
                        moved += expected > lane.start ? 1 : 0;
                        held += expected < lane.next() ? 1 : 0;
                        lane.start = expected;
                    }
                    int step = pass == 1 ? 1 : 100;
                    while (scene.expire(NOW, 0, step).lanes() > 0) {
                        // Each lane is put right or left alone, so this ends.
                    }
                    for (Lane lane : lanes) {
                        assertEquals(lane.start, scene.logStart(lane.id), rules + " " + groups);
                        scene.assertSound(lane.id);
                    }
                    // Time passes: readers go on and what was left alone is looked at again.
                    for (Lane lane : lanes) {
                        advance(random, scene, lane, groups);
                    }
                    scene.log.run("update queen_store.partitions set expiry_held_at = null");
                }
            }
        } catch (SQLException | AssertionError e) {
            throw new AssertionError("seed " + seed, e);
        }
        assertTrue(moved > ROUNDS && held > ROUNDS, moved + " moved, " + held + " kept something");
    }

    private static int pick(Random random) {
        return random.nextInt(3) == 0 ? 0 : 1 + random.nextInt(AGE_MAX);
    }

    private static List<Group> groups(Random random, StorageScene scene, int queue)
            throws SQLException {
        List<Group> groups = new ArrayList<>();
        int count = random.nextInt(4);
        for (int i = 0; i < count; i++) {
            String rule =
                    switch (random.nextInt(4)) {
                        case 0 -> null;
                        case 1 -> "all";
                        default -> "instant";
                    };
            double ago = random.nextInt(AGE_MAX);
            int id =
                    scene.log.group(queue, "g" + i, rule, "instant".equals(rule) ? ago(ago) : null);
            int generation = 1 + random.nextInt(2);
            scene.log.run(
                    "update queen_store.groups set generation = ? where id = ?", generation, id);
            groups.add(new Group(id, rule, ago, generation));
        }
        return groups;
    }

    private static Lane lane(Random random, StorageScene scene, int queue, List<Group> groups)
            throws SQLException {
        Lane lane = new Lane(scene.log.lane(queue));
        double age = AGE_MAX;
        int segments = random.nextInt(7);
        int perSegment = 1 + random.nextInt(3);
        double[] ages = new double[segments];
        for (int i = 0; i < segments; i++) {
            // Ties and ages that equal an age of a rule are common.
            age -= random.nextInt(8);
            ages[i] = age;
            lane.segments.add(new Segment(lane.next(), lane.next() + perSegment - 1, age));
        }
        if (segments > 0) {
            scene.store(lane.id, perSegment, ages);
        }
        for (Group group : groups) {
            if (random.nextBoolean()) {
                long committed = random.nextLong(lane.next() + 1) - 1;
                boolean stale = random.nextInt(4) == 0;
                scene.log.cursor(lane.id, group.id(), committed);
                if (stale) {
                    scene.log.run(
                            "update queen_store.cursors set generation = generation - 1"
                                    + " where partition_id = ? and group_id = ?",
                            lane.id,
                            group.id());
                } else {
                    lane.cursors.put(group.id(), committed);
                }
            }
        }
        return lane;
    }

    private static void advance(Random random, StorageScene scene, Lane lane, List<Group> groups)
            throws SQLException {
        for (Group group : groups) {
            Long cursor = lane.cursors.get(group.id());
            if (cursor != null && cursor < lane.next() - 1 && random.nextBoolean()) {
                long committed = cursor + 1 + random.nextLong(lane.next() - 1 - cursor);
                lane.cursors.put(group.id(), committed);
                scene.log.run(
                        "update queen_store.cursors set committed = ?"
                                + " where partition_id = ? and group_id = ?",
                        committed,
                        lane.id,
                        group.id());
            }
        }
    }
}
