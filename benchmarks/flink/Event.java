/** One event; a plain object with public fields, for which Flink generates its fast serializer. */
public class Event {
    public long time;
    public int type;
    public long id;
    public long key;
    public double price;

    public Event() {}

    Event(long time, int type, long id, long key, double price) {
        this.time = time;
        this.type = type;
        this.id = id;
        this.key = key;
        this.price = price;
    }
}
