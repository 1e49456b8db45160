package io.queenmq.web;

import io.queenmq.access.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds the handler of a path as it stands on the wire. Segments are told apart before they are
 * decoded, and decoded exactly once, so that a name may hold any character, a slash included. The
 * server's own routing matches the decoded, normalised path and cannot tell {@code a%2Fb} from
 * {@code a/b}. Immutable.
 */
public final class Router {
    private static final Pattern SCHEME_AND_HOST = Pattern.compile("(?i)https?://[^/]+/");

    private static final Pattern DOTS = Pattern.compile("(?:^|/)\\.\\.?(?:/|$)");

    private final Node root;
    private final List<Route> routes;

    private Router(Node root, List<Route> routes) {
        this.root = root;
        this.routes = List.copyOf(routes);
    }

    /**
     * What can be asked for.
     *
     * @param pattern as it was registered
     * @param level what it asks of its caller
     */
    public record Route(String method, String pattern, Level level) {}

    /** All there are, in the order they were added. */
    public List<Route> routes() {
        return routes;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** What a path leads to. */
    record Match(Handler handler, Level level, Map<String, String> rawSegments) {}

    /** The handler of this method and raw path; null if there is none. */
    @Nullable Match find(String method, String rawPath) {
        int from = pathBegins(rawPath);
        return from < 0 ? null : find(root, method, rawPath, from, new ArrayList<>(2));
    }

    /** A segment that stands in a pattern wins over a parameter, unless it leads nowhere. */
    private static @Nullable Match find(
            Node node, String method, String rawPath, int from, List<String> values) {
        if (from > rawPath.length()) {
            Leaf leaf = node.leaves.get(method);
            return leaf == null ? null : leaf.match(values);
        }
        int slash = rawPath.indexOf('/', from);
        int end = slash < 0 ? rawPath.length() : slash;
        String segment = rawPath.substring(from, end);
        Node literal = node.literals.get(segment);
        Match match = literal == null ? null : find(literal, method, rawPath, end + 1, values);
        Node parameter = node.parameter;
        if (match == null && parameter != null && isName(segment)) {
            values.add(segment);
            match = find(parameter, method, rawPath, end + 1, values);
            if (match == null) {
                values.removeLast();
            }
        }
        Leaf rest = node.rests.get(method);
        if (match == null && rest != null && isName(rawPath.substring(from))) {
            values.add(rawPath.substring(from));
            match = rest.match(values);
        }
        return match;
    }

    /** Dots are navigation to every client on the way here: a name is sent as %2E. */
    private static boolean isName(String raw) {
        return !raw.isEmpty() && !DOTS.matcher(raw).find();
    }

    /** Where the first segment begins: behind scheme and host, if a proxy sends them; or -1. */
    private static int pathBegins(String target) {
        if (target.startsWith("/")) {
            return 1;
        }
        Matcher host = SCHEME_AND_HOST.matcher(target);
        return host.lookingAt() ? host.end() : -1;
    }

    private static final class Node {
        final Map<String, Node> literals = new HashMap<>();
        final Map<String, Leaf> leaves = new HashMap<>();
        @Nullable Node parameter;

        /** Take all that is left of a path, slashes included. */
        final Map<String, Leaf> rests = new HashMap<>();
    }

    private record Leaf(Handler handler, Level level, List<String> names) {
        Match match(List<String> values) {
            Map<String, String> segments = new HashMap<>();
            for (int i = 0; i < values.size(); i++) {
                segments.put(names.get(i), values.get(i));
            }
            return new Match(handler, level, segments);
        }
    }

    /** Collects the routes of every edge room, each with the level it asks for. */
    public static final class Builder {
        private final Node root = new Node();
        private final List<Route> routes = new ArrayList<>();

        private Builder() {}

        /** Adds a GET that changes nothing: it answers HEAD as well. */
        public Builder read(Level level, String pattern, Handler handler) {
            return route(level, "GET", pattern, handler).route(level, "HEAD", pattern, handler);
        }

        /** Adds a route for operators: whoever asks what was done finds each success in the log. */
        public Builder manage(Level level, String method, String pattern, Handler handler) {
            Handler telling =
                    exchange -> {
                        try {
                            handler.handle(exchange);
                        } catch (ClientGone e) {
                            // It is done all the same.
                            exchange.tellOperators(method);
                            throw e;
                        } catch (RuntimeException | Error e) {
                            exchange.tellOperatorsOfPart(method);
                            throw e;
                        }
                        exchange.tellOperators(method);
                    };
            return route(level, method, pattern, Handler.refusing(telling, handler::refusal));
        }

        /**
         * Adds a route; {@code :name} in the pattern stands for any one segment, a last {@code
         * *name} for one or more.
         */
        public Builder route(Level level, String method, String pattern, Handler handler) {
            Node node = root;
            List<String> names = new ArrayList<>();
            boolean rest = false;
            for (String segment : pattern.substring(1).split("/", -1)) {
                if (segment.startsWith(":")) {
                    names.add(segment.substring(1));
                    Node next = node.parameter;
                    if (next == null) {
                        next = new Node();
                        node.parameter = next;
                    }
                    node = next;
                } else if (segment.startsWith("*")) {
                    names.add(segment.substring(1));
                    rest = true;
                } else {
                    node = node.literals.computeIfAbsent(segment, s -> new Node());
                }
            }
            Map<String, Leaf> leaves = rest ? node.rests : node.leaves;
            if (leaves.put(method, new Leaf(handler, level, List.copyOf(names))) != null) {
                throw new IllegalStateException("two handlers for " + method + ' ' + pattern);
            }
            routes.add(new Route(method, pattern, level));
            return this;
        }

        public Router build() {
            return new Router(root, routes);
        }
    }
}
