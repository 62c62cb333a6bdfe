/** Ports that are allowed while their server runs. */
export { lockNodes, settleOpenings } from './settle.ts';
