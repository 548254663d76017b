// OpenCV in C++, for `benches/run`: what a program gets that has no Python in it. `opencv.py`
// compiles this as a shared library and calls it.
//
// Results stay what OpenCV gives, vectors of points and a matrix of labels. They are made and freed
// within the time, and copied to arrays outside it.

#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/core/version.hpp>
#include <opencv2/imgproc.hpp>

#include <cstdint>
#include <cstring>
#include <exception>
#include <vector>

namespace {

struct Contours {
    std::vector<std::vector<cv::Point>> contours;
    std::vector<cv::Vec4i> hierarchy;
};

// OpenCV reads it only.
cv::Mat matrix(const uint8_t* pixels, int height, int width)
{
    return cv::Mat(height, width, CV_8UC1, const_cast<uint8_t*>(pixels));
}

} // namespace

extern "C" {

const char* opencv_version() { return CV_VERSION; }

void opencv_threads(int count) { cv::setNumThreads(count); }

// Contours with CHAIN_APPROX_SIMPLE, as RETR_LIST or RETR_TREE gives them; null after an exception.
// Without the hierarchy, OpenCV 4.14 and later has a quicker algorithm, with threads, for lists.
Contours* opencv_contours(
    const uint8_t* pixels, int height, int width, bool list, bool with_hierarchy)
try {
    auto* found = new Contours;
    const int mode = list ? cv::RETR_LIST : cv::RETR_TREE;
    const cv::Mat image = matrix(pixels, height, width);
    if (with_hierarchy)
        cv::findContours(image, found->contours, found->hierarchy, mode, cv::CHAIN_APPROX_SIMPLE);
    else
        cv::findContours(image, found->contours, mode, cv::CHAIN_APPROX_SIMPLE);
    return found;
} catch (const std::exception&) {
    return nullptr;
}

size_t opencv_contour_count(const Contours* found) { return found->contours.size(); }

// The number of points of each.
void opencv_contour_lengths(const Contours* found, int64_t* lengths)
{
    for (const auto& contour : found->contours)
        *lengths++ = int64_t(contour.size());
}

// x and y of all points.
void opencv_contour_points(const Contours* found, int32_t* points)
{
    for (const auto& contour : found->contours) {
        std::memcpy(points, contour.data(), contour.size() * sizeof(cv::Point));
        points += 2 * contour.size();
    }
}

void opencv_free_contours(Contours* found) { delete found; }

// 8-connected components; null after an exception.
cv::Mat* opencv_labels(const uint8_t* pixels, int height, int width)
try {
    auto* labels = new cv::Mat;
    cv::connectedComponents(matrix(pixels, height, width), *labels, 8, CV_32S);
    return labels;
} catch (const std::exception&) {
    return nullptr;
}

const int32_t* opencv_label_pixels(const cv::Mat* labels) { return labels->ptr<int32_t>(); }

void opencv_free_labels(cv::Mat* labels) { delete labels; }
}
