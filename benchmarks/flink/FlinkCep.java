import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.ListAccumulator;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Run queries with Flink CEP: `FlinkCep EVENTS QUERIES CORES RUNS count|list`.
 *
 * <p>Of each run it prints `seconds`, of the last one `count QUERY N`, and with `list` also `match QUERY ID ...`.
 * A unit of Flink's time, by its name a millisecond, is a microsecond of the events: none is rounded.
 */
public final class FlinkCep {
    private FlinkCep() {}

    public static void main(String[] arguments) throws Exception {
        List<Query> queries = Query.read(arguments[1]);
        int cores = Integer.parseInt(arguments[2]);
        boolean lists = arguments[4].equals("list");
        JobExecutionResult result = null;
        for (int run = 0; run < Integer.parseInt(arguments[3]); run++) {
            result = job(new EventFile(arguments[0]), queries, cores, lists).execute();
            System.out.println("seconds " + result.getNetRuntime() / 1000.0);
        }
        for (Query query : queries) {
            System.out.println("count " + query.name() + " " + result.getAccumulatorResult(query.name()));
            if (lists) {
                List<long[]> found = result.getAccumulatorResult("matches of " + query.name());
                found.forEach(ids -> System.out.println("match " + query.name() + " " + text(ids)));
            }
        }
    }

    private static String text(long[] ids) {
        return LongStream.of(ids).mapToObj(Long::toString).collect(Collectors.joining(" "));
    }

    private static StreamExecutionEnvironment job(EventFile file, List<Query> queries, int cores, boolean lists)
            throws Exception {
        Configuration settings = new Configuration();
        settings.setString("taskmanager.memory.network.min", "512m");
        settings.setString("taskmanager.memory.network.max", "512m");
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.createLocalEnvironment(cores, settings);
        flink.getConfig().enableObjectReuse();
        TypeInformation<Event> type = TypeInformation.of(Event.class);
        WatermarkStrategy<Event> times =
                WatermarkStrategy.<Event>forGenerator(context -> new EveryFew())
                        .withTimestampAssigner((event, old) -> event.time);
        DataStream<Event> events =
                flink.fromSource(new DataGeneratorSource<>(file, file.size(), type), times, "events", type)
                        .setParallelism(1);
        for (Query query : queries) {
            DataStream<Event> own = events.filter(query::names).setParallelism(1);
            DataStream<Event> input = query.isKeyed() ? own.keyBy(event -> event.key) : own;
            CEP.pattern(input, query.pattern())
                    .process(new Ids(query.steps().size()))
                    .filter(new Count(query.name(), lists))
                    .sinkTo(new DiscardingSink<>());
        }
        return flink;
    }

    /** Give the ids of the events of a match, in the order of the steps. */
    private static final class Ids extends PatternProcessFunction<Event, long[]> {
        private static final long serialVersionUID = 1;
        private final int steps;

        Ids(int steps) {
            this.steps = steps;
        }

        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<long[]> out) {
            LongStream.Builder ids = LongStream.builder();
            for (int place = 0; place < steps; place++) {
                match.get(Query.stepName(place)).forEach(event -> ids.add(event.id));
            }
            out.collect(ids.build().toArray());
        }
    }

    /** Count the matches of a query, and drop them; keep their ids only where they are asked for. */
    private static final class Count extends RichFilterFunction<long[]> {
        private static final long serialVersionUID = 1;
        private final String query;
        private final boolean lists;
        private final LongCounter counted = new LongCounter();
        private final ListAccumulator<long[]> found = new ListAccumulator<>();

        Count(String query, boolean lists) {
            this.query = query;
            this.lists = lists;
        }

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator(query, counted);
            getRuntimeContext().addAccumulator("matches of " + query, found);
        }

        @Override
        public boolean filter(long[] ids) {
            counted.add(1L);
            if (lists) {
                found.add(ids);
            }
            return false;
        }
    }
}
