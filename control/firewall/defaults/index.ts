/** The verdict on packets that no rule matches, of addresses and prefixes. */
export { setDefault } from './service.ts';
