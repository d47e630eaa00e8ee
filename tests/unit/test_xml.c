/* Elements, attributes and text of XML, sound and damaged. */
#include "io/xml.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

static bool is_text(lob_xml part, const char *text)
{
    return (size_t)(part.end - part.at) == strlen(text) && memcmp(part.at, text, strlen(text)) == 0;
}

TEST(elements)
{
    static const struct {
        const char *what, *text, *content; /* of the first element "id"; NULL: there is none */
    } cases[] = {
        {"a plain one",              "<id>7</id>",                              "7"             },
        {"inside of another",        "<a><id>7</id></a>",                       "7"             },
        {"with a prefix",            "<o:id x=\"1\">7</o:id >",                 "7"             },
        {"after a longer name",      "<idle>1</idle><id>7</id>",                "7"             },
        {"empty",                    "<id/>",                                   ""              },
        {"empty, with an attribute", "<id a='/'/> <id>7</id>",                  ""              },
        {"'>' in an attribute",      "<id a=\"x>y\">7</id>",                    "7"             },
        {"in a comment",             "<!-- <id>1</id> --><id>7</id>",           "7"             },
        {"in CDATA",                 "<a><![CDATA[<id>1</id>]]></a><id>7</id>", "7"             },
        {"its end tag in a comment", "<id>7<!--</id>-->8</id>",                 "7<!--</id>-->8"},
        {"in an instruction",        "<?a <id>1</id> ?><id>7</id>",             "7"             },
        {"with an element",          "<id><b>1</b></id>",                       "<b>1</b>"      },
        {"not closed",               "<id>7",                                   NULL            },
        {"closed by another name",   "<id>7</idle>",                            NULL            },
        {"cut in its name",          "<id",                                     NULL            },
        {"cut in its tag",           "<id a='1'",                               NULL            },
        {"cut in an attribute",      "<id a='1>7</id>",                         NULL            },
        {"cut in its end tag",       "<id>7</id",                               NULL            },
        {"behind an open comment",   "<!-- <id>7</id>",                         NULL            },
        {"an end tag alone",         "</id>",                                   NULL            },
        {"nothing",                  "",                                        NULL            },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_xml rest = lob_xml_of(cases[i].text, strlen(cases[i].text)), content;
        const bool found = lob_xml_element(NULL, &content, &rest, "id");
        if (found != (cases[i].content != NULL) || (found && !is_text(content, cases[i].content)))
            fail_msg("%s", cases[i].what);
        assert_true(rest.at <= rest.end);
    }
}

TEST(elements_one_after_the_other)
{
    static const char text[] = "<r><i>a</i><i/><i>b</i></r>";
    lob_xml rest = lob_xml_of(text, sizeof text), content; /* ends at the NUL */
    const char *const wanted[] = {"a", "", "b"};
    for (int i = 0; i < 3; i++)
        assert_true(lob_xml_element(NULL, &content, &rest, "i") && is_text(content, wanted[i]));
    assert_false(lob_xml_element(NULL, &content, &rest, "i"));
    assert_true(is_text(rest, "</r>"));
}

TEST(attributes)
{
    static const struct {
        const char *what, *tag, *value; /* of "b" */
    } cases[] = {
        {"after another",     " a=\"1\" b=\"2\"",   "2"      },
        {"in single quotes",  " b='x \"y\"'",       "x \"y\""},
        {"spaces around '='", " b = \"2\" ",        "2"      },
        {"on another line",   "\n\tb=\"2\"/",       "2"      },
        {"empty",             " b=\"\"",            ""       },
        {"named in a value",  " a=\"b='1'\" b='2'", "2"      },
        {"a longer name",     " ab='1' bc='3'",     NULL     },
        {"without quotes",    " b=2",               NULL     },
        {"without a value",   " b",                 NULL     },
        {"cut short",         " b='2",              NULL     },
        {"no name",           " ='1' \"\" '",       NULL     },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_xml value;
        const bool found =
            lob_xml_attribute(&value, lob_xml_of(cases[i].tag, strlen(cases[i].tag)), "b");
        if (found != (cases[i].value != NULL) || (found && !is_text(value, cases[i].value)))
            fail_msg("%s", cases[i].what);
    }
}

TEST(text)
{
    static const struct {
        const char *what, *text, *plain;
    } cases[] = {
        {"names of characters",   "&lt;&amp;amp;&gt;&quot;&apos;", "<&amp;>\"'"                   },
        {"numbers of characters", "&#181;m &#xb5;m &#65;",         "\xc2\xb5m \xc2\xb5m A"        },
        {"long ones",             "&#8491;&#x1F600;",              "\xe2\x84\xab\xf0\x9f\x98\x80" },
        {"none that exist",       "&#0;&#xD800;&#1114112;&#;&#x;", "&#0;&#xD800;&#1114112;&#;&#x;"},
        {"far too large",         "&#99999999999;&# 1;&nbsp;&",    "&#99999999999;&# 1;&nbsp;&"   },
        {"CDATA",                 "a<![CDATA[<&lt;>]]>b&lt;",      "a<&lt;>b<"                    },
        {"CDATA that goes on",    "<![CDATA[]]]]><![CDATA[>]]>",   "]]>"                          },
        {"UTF-8",                 "\xc3\x9cr",                     "\xc3\x9cr"                    },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char got[64];
        const lob_xml all = lob_xml_of(cases[i].text, strlen(cases[i].text));
        if (!lob_xml_text(got, strlen(cases[i].text) + 1, all) || strcmp(got, cases[i].plain) != 0)
            fail_msg("%s: %s", cases[i].what, got);
    }
    char small[4];
    assert_false(lob_xml_text(small, sizeof small, lob_xml_of("abc&#181;", 9)));
    assert_string_equal(small, "abc");
    assert_false(lob_xml_text(small, sizeof small, lob_xml_of("ab&#181;", 8)));
    assert_string_equal(small, "ab");
}
