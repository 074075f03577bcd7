import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;

/** A sequence of events or lists, each perhaps compared with an earlier one, within a window. */
public record Query(String name, boolean isKeyed, long window, List<Step> steps) implements Serializable {

    /** An event of a type, or a list of at least so many; its price is compared with an earlier one's. */
    record Step(int type, int least, int earlier, boolean above, double factor) implements Serializable {
        static final int NONE = -1;

        static Step parse(String text) {
            String[] parts = text.split("/");
            return new Step(
                    Integer.parseInt(parts[0]),
                    Integer.parseInt(parts[1]),
                    Integer.parseInt(parts[2]),
                    parts[3].equals(">"),
                    Double.parseDouble(parts[4]));
        }

        boolean isList() {
            return least > 1;
        }

        boolean holds(double price, double other) {
            return above ? price > other * factor : price < other * factor;
        }
    }

    /** Read one query from each line: name, whether it is keyed, window, and the steps. */
    static List<Query> read(String path) throws IOException {
        return Files.readAllLines(Path.of(path)).stream().map(Query::parse).toList();
    }

    private static Query parse(String line) {
        String[] words = line.split(" ");
        return new Query(
                words[0],
                words[1].equals("keyed"),
                Long.parseLong(words[2]),
                Arrays.stream(words).skip(3).map(Step::parse).toList());
    }

    /** Say whether an event may be part of a match. */
    boolean names(Event event) {
        for (Step step : steps) {
            if (step.type == event.type) {
                return true;
            }
        }
        return false;
    }

    /** Return the pattern; a window of Flink leaves its end out, so it is longer by one unit of time. */
    Pattern<Event, ?> pattern() {
        AfterMatchSkipStrategy skip = AfterMatchSkipStrategy.skipPastLastEvent();
        Pattern<Event, Event> pattern = restricted(Pattern.begin(stepName(0), skip), steps.get(0));
        for (int place = 1; place < steps.size(); place++) {
            pattern = restricted(pattern.followedBy(stepName(place)), steps.get(place));
        }
        return pattern.within(Duration.ofMillis(window + 1));
    }

    static String stepName(int place) {
        return "s" + place;
    }

    private static Pattern<Event, Event> restricted(Pattern<Event, Event> pattern, Step step) {
        Pattern<Event, Event> single = pattern.where(new Fits(step));
        return step.isList() ? single.timesOrMore(step.least).greedy() : single;
    }

    /** The condition of a step; the type is looked at first, since looking up another event costs more. */
    private static final class Fits extends IterativeCondition<Event> {
        private static final long serialVersionUID = 1;
        private final Step step;

        Fits(Step step) {
            this.step = step;
        }

        @Override
        public boolean filter(Event event, Context<Event> context) throws Exception {
            if (event.type != step.type) {
                return false;
            }
            if (step.earlier == Step.NONE) {
                return true;
            }
            for (Event other : context.getEventsForPattern(stepName(step.earlier))) {
                if (!step.holds(event.price, other.price)) {
                    return false;
                }
            }
            return true;
        }
    }
}
