/** The edge and the node that a first start makes, and what they are called when nobody named them. */
export const LOCAL_EDGE = 'local';
export const LOCAL_NODE = 'local';
