// Small JUnit reports, one for each framework whose dialect is supported.

export const pytest = `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="1.532" timestamp="2026-01-05T10:00:12.104202" hostname="runner-1">
<testcase classname="tests.test_cart.TestCart" name="test_total[1-2]" time="0.103" />
<testcase classname="tests.test_cart.TestCart" name="test_discount" time="0.204"><failure message="assert 90 == 91">self = &lt;tests.test_cart.TestCart object at 0x7f&gt;

    def test_discount(self):
&gt;       assert total() == 91
E       assert 90 == 91

tests/test_cart.py:21: AssertionError</failure></testcase>
<testcase classname="tests.test_cart" name="test_stock" time="0.001"><error message="failed on setup with &quot;OSError&quot;">OSError: no warehouse</error></testcase>
<testcase classname="tests.test_cart" name="test_later" time="0.000"><skipped type="pytest.skip" message="not yet">tests/test_cart.py:30: not yet</skipped></testcase>
</testsuite></testsuites>`

export const surefire = `<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="com.example.OrderTest" time="1,234.5" tests="3" errors="0" skipped="0" failures="1">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="places" classname="com.example.OrderTest" time="0.5"/>
  <testcase name="retries" classname="com.example.OrderTest" time="0.25">
    <flakyFailure message="timed out" type="java.util.concurrent.TimeoutException"><stackTrace><![CDATA[java.util.concurrent.TimeoutException: timed out
	at com.example.OrderTest.retries(OrderTest.java:40)]]></stackTrace></flakyFailure>
    <system-out><![CDATA[retrying]]></system-out>
  </testcase>
  <testcase name="cancels" classname="com.example.OrderTest" time="0.125">
    <failure message="expected: &lt;1&gt; but was: &lt;2&gt;" type="org.opentest4j.AssertionFailedError"><![CDATA[org.opentest4j.AssertionFailedError: expected: <1> but was: <2>
	at com.example.OrderTest.cancels(OrderTest.java:55)]]></failure>
    <rerunFailure message="expected: &lt;1&gt; but was: &lt;2&gt;" type="org.opentest4j.AssertionFailedError"><stackTrace>again</stackTrace></rerunFailure>
  </testcase>
</testsuite>`

export const jest = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="2" failures="1" errors="0" time="2.41">
  <testsuite name="Basket" errors="0" failures="1" skipped="0" timestamp="2026-01-05T10:00:20Z" time="1.2" tests="2" file="src/basket.test.ts">
    <testcase classname="Basket adds" name="Basket adds" time="0.004"/>
    <testcase classname="Basket removes" name="Basket removes" time="0.009" file="src/basket.test.ts" line="31"><failure>Error: expect(received).toBe(expected)
    at Object.&lt;anonymous&gt; (src/basket.test.ts:31:20)</failure></testcase>
  </testsuite>
</testsuites>`

export const phpunit = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="all" tests="2" time="0,750"><testsuite name="App\\Tests\\PriceTest" file="/builds/shop/tests/PriceTest.php" time="0,500">
<testcase name="testRounds" class="App\\Tests\\PriceTest" classname="App.Tests.PriceTest" file="/builds/shop/tests/PriceTest.php" line="12" time="0,250"/>
</testsuite><testsuite name="App\\Tests\\TaxTest"><testcase name="testRate" classname="App.Tests.TaxTest" time="0,250"/></testsuite></testsuite></testsuites>`

export const googletest = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="0" disabled="1" errors="0" time="0.003" name="AllTests">
  <testsuite name="Math" tests="3" failures="0" disabled="1" time="0.003">
    <testcase name="Adds" file="math_test.cc" line="7" status="run" result="completed" time="0.001" classname="Math" />
    <testcase name="DISABLED_Divides" status="notrun" result="suppressed" time="0." classname="Math" />
    <testcase name="Fails" status="run" result="completed" time="0.001" classname="Math">
      <failure message="first&#x0A;line" type=""><![CDATA[math_test.cc:20]]></failure>
      <failure message="second" type=""><![CDATA[math_test.cc:21]]></failure>
    </testcase>
  </testsuite>
</testsuites>`

/**
 * A report that contains the same test case twice. Gradle and gotestsum write a case again when they retry it, and data-driven tests also repeat
 * cases.
 */
export const repeated = `<testsuite name="gradle" time="3">
<testcase name="eventually" classname="A" time="1"><failure message="no" type="E">E: no</failure></testcase>
<testcase name="eventually" classname="A" time="1"/>
<testcase name="never" classname="A" time="0.5"><failure message="no">no</failure></testcase>
<testcase name="never" classname="A" time="0.5"><failure message="still no">no</failure></testcase>
<testcase name="same name" classname="A" time="0"/><testcase name="same name" classname="A" time="0"/>
</testsuite>`

/** A pytest report for a test that fails both in the test itself and in its teardown. Pytest writes two cases for it, but counts one test. */
export const pytestTeardown = `<testsuites><testsuite name="pytest" errors="1" failures="1" tests="2" time="0.1">
<testcase classname="tests.test_cart" name="test_total" time="0.05"><failure message="assert 1 == 2">E assert 1 == 2</failure></testcase>
<testcase classname="tests.test_cart" name="test_total" time="0.01"><error message="failed on teardown">E OSError</error></testcase>
<testcase classname="tests.test_cart" name="test_stock" time="0.02"/>
</testsuite></testsuites>`
