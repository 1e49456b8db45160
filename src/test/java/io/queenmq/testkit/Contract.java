package io.queenmq.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The rules of {@code docs/http-api.md} that a test, or every test of a class, proves. {@code
 * ContractTableTest} keeps rules and tests together.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface Contract {
    /** Ids as in the first column of the tables there: {@code push-7}. */
    String[] value();
}
