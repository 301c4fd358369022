/* SPDX-License-Identifier: MIT */
/* The kernels of this folder. Both sources include this file, so an edit of it makes both be compiled again. */
#ifndef KERNELS_H
#define KERNELS_H

/* Added to every element of a product. */
#define BIAS 0.0f

/* c = a b + BIAS. Row by row: a has m rows of k, b has k rows of n, c has m rows of n. */
void matmul(const float* a, const float* b, float* c, int m, int n, int k);

/* Each row of y is the softmax of that row of x. */
void softmax(const float* x, float* y, int rows, int columns);

#endif /* KERNELS_H */
