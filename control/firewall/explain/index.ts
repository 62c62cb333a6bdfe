/** To whom ports are open. */
export { findClosedPorts } from './closed-ports.ts';
