/* The text of a number in a table. */
#ifndef LOB_NUMBER_TEXT_H
#define LOB_NUMBER_TEXT_H

/* The shortest text of a number, of 15 to 17 digits; empty for what is not finite. */
void lob_number_text(char text[32], double value);

/* With at most 7 significant digits, but never fewer than the whole part has, below 10^15. */
void lob_number_brief(char text[32], double value);

#endif
