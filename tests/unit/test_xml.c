/* Elements, attributes and text of XML, sound and damaged. */
#include "io/xml.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

static lob_xml *parse(const char *text)
{
    lob_xml *root;
    assert_int_equal(lob_xml_parse(&root, text, strlen(text) + 1), LOB_OK);
    return root;
}

TEST(elements)
{
    static const struct {
        const char *what, *text, *content; /* of the first element "id"; NULL: there is none */
    } cases[] = {
        {"a plain one",              "<r><id>7</id></r>",                                         "7" },
        {"deeper",                   "<r><a><id>7</id></a></r>",                                  "7" },
        {"with a prefix",            "<r><o:id x=\"1\">7</o:id ></r>",                            "7" },
        {"after a longer name",      "<r><idle>1</idle><id>7</id></r>",                           "7" },
        {"empty",                    "<r><id/></r>",                                              ""  },
        {"empty, with an attribute", "<r><id a='/'/> <id>7</id></r>",                             ""  },
        {"'>' in an attribute",      "<r><id a=\"x>y\">7</id></r>",                               "7" },
        {"in a comment",             "<r><!-- <id>1</id> --><id>7</id></r>",                      "7" },
        {"in CDATA",                 "<r><![CDATA[<id>1</id>]]><id>7</id></r>",                   "7" },
        {"its end in a comment",     "<r><id>7<!--</id>-->8</id></r>",                            "78"},
        {"in an instruction",        "<r><?a <id>1</id> ?><id>7</id></r>",                        "7" },
        {"with an element",          "<r><id>6<b>1</b>7</id></r>",                                "6" },
        {"in one of its name",       "<r><id>1<id>2</id>3</id></r>",                              "1" },
        {"whole, in what is cut",    "<r><a><id>7</id>",                                          "7" },
        {"after blanks and a BOM",   "\xef\xbb\xbf \n<r><id>7</id></r>",                          "7" },
        {"outermost",                "<id>7</id>",                                                NULL},
        {"not closed",               "<r><id>7",                                                  NULL},
        {"closed by another name",   "<r><id>7</idle></r>",                                       NULL},
        {"cut in its name",          "<r><id",                                                    NULL},
        {"cut in its tag",           "<r><id a='1'",                                              NULL},
        {"cut in an attribute",      "<r><id a='1>7</id></r>",                                    NULL},
        {"cut in its end tag",       "<r><id>7</id",                                              NULL},
        {"behind damage",            "<r><a b=1/><id>7</id></r>",                                 NULL},
        {"behind an open comment",   "<r><!-- <id>7</id></r>",                                    NULL},
        {"an end tag alone",         "</id>",                                                     NULL},
        {"no XML",                   "id",                                                        NULL},
        {"nothing",                  "",                                                          NULL},
        {"behind declarations",      "<!DOCTYPE r [<!ENTITY e 'x'>]><r><id>&e;</id></r>",         NULL},
        {"a file elsewhere",         "<!DOCTYPE r SYSTEM 'file:///etc/passwd'><r><id>7</id></r>", "7" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_xml *const root = parse(cases[i].text);
        const lob_xml *const found = lob_xml_next(root, root, "id");
        if ((found != NULL) != (cases[i].content != NULL) ||
            (found && strcmp(found->text, cases[i].content) != 0))
            fail_msg("%s", cases[i].what);
        lob_xml_free(root);
    }
}

TEST(elements_one_after_the_other)
{
    lob_xml *const root = parse("<r><t><i>a</i><i/><u><i>b</i></u></t><i>c</i></r>");
    assert_string_equal(root->name, "r");
    assert_int_equal(root->inside, 6);
    const lob_xml *const in = lob_xml_next(root, root, "t"), *at = in;
    const char *const wanted[] = {"a", "", "b"};
    for (int i = 0; i < 3; i++) {
        at = lob_xml_next(at, in, "i");
        assert_true(at && strcmp(at->text, wanted[i]) == 0);
    }
    assert_null(lob_xml_next(at, in, "i"));
    assert_string_equal(lob_xml_next(at, root, "i")->text, "c");
    lob_xml_free(root);
}

TEST(depth_ends)
{
    char text[3 * 200 + 1] = "";
    for (int i = 0; i < 200; i++) memcpy(text + 3 * i, "<a>", 4);
    lob_xml *const root = parse(text);
    assert_int_equal(root->inside, 99);
    lob_xml_free(root);
}

TEST(attributes)
{
    static const struct {
        const char *what, *text, *value; /* of "b" */
    } cases[] = {
        {"after another",     "<r a=\"1\" b=\"2\"/>",   "2"        },
        {"in single quotes",  "<r b='x \"y\"'/>",       "x \"y\""  },
        {"spaces around '='", "<r b = \"2\" />",        "2"        },
        {"on another line",   "<r\n\tb=\"2\"/>",        "2"        },
        {"empty",             "<r b=\"\" c='1'/>",      ""         },
        {"named in a value",  "<r a=\"b='1'\" b='2'/>", "2"        },
        {"with a character",  "<r b='&#181;m'/>",       "\xc2\xb5m"},
        {"a longer name",     "<r ab='1' bc='b'/>",     NULL       },
        {"without quotes",    "<r b=2/>",               NULL       },
        {"without a value",   "<r b/>",                 NULL       },
        {"cut short",         "<r b='2",                NULL       },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_xml *const root = parse(cases[i].text);
        const char *const value = lob_xml_attribute(root, "b");
        if ((value != NULL) != (cases[i].value != NULL) ||
            (value && strcmp(value, cases[i].value) != 0))
            fail_msg("%s", cases[i].what);
        lob_xml_free(root);
    }
}

TEST(text)
{
    static const struct {
        const char *what, *text, *plain;
    } cases[] = {
        {"names of characters", "<r>&lt;&amp;amp;&gt;&quot;&apos;</r>",                      "<&amp;>\"'"                  },
        {"numbers of them",     "<r>&#181;m &#xb5;m &#65;</r>",                              "\xc2\xb5m \xc2\xb5m A"       },
        {"long ones",           "<r>&#8491;&#x1F600;</r>",                                   "\xe2\x84\xab\xf0\x9f\x98\x80"},
        {"none that exists",    "<r>a&#0;b</r>",                                             "a"                           },
        {"far too large",       "<r>a&#99999999999;</r>",                                    "a"                           },
        {"an unknown name",     "<r>a&nbsp;b</r>",                                           "a"                           },
        {"CDATA",               "<r>a<![CDATA[<&lt;>]]>b&lt;</r>",                           "a<&lt;>b<"                   },
        {"CDATA that goes on",  "<r><![CDATA[]]]]><![CDATA[>]]></r>",                        "]]>"                         },
        {"UTF-8",               "<r>\xc3\x9cr</r>",                                          "\xc3\x9cr"                   },
        {"Latin-1 among it",    "<?xml version='1.0' encoding='UTF-8'?><r>\xc3\x9c\xb5</r>",
         "\xc3\x9c\xc2\xb5"                                                                                                },
        {"another encoding",    "<?xml version='1.0' encoding='UTF-16'?><r>a</r>",           "a"                           },
        {"control characters",  "<r>a\x01\nb</r>",                                           "a  b"                        },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lob_xml *const root = parse(cases[i].text);
        if (strcmp(root->text, cases[i].plain) != 0) fail_msg("%s: %s", cases[i].what, root->text);
        lob_xml_free(root);
    }
}
