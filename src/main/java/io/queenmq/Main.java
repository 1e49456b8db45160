package io.queenmq;

/** Entry point of {@code ./queen}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        System.out.println("queen");
    }
}
