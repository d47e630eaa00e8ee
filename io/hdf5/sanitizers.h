/* Is this built with AddressSanitizer, which wants terabytes of address space and a place to print?
 */
#ifndef LOB_SANITIZERS_H
#define LOB_SANITIZERS_H

#if defined(__SANITIZE_ADDRESS__)
#define LOB_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOB_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef LOB_ADDRESS_SANITIZER
#define LOB_ADDRESS_SANITIZER 0
#endif

#endif
